// Finds a running server of a folder: whether it answers, who started it, and whether it still has an owner.

import { readFile, rename, writeFile } from "node:fs/promises";
import pg from "pg";
import { sleep, type World } from "../kernel/world.js";
import { EmbeddedFailed } from "./error.js";
import { SUPERUSER } from "./initialise.js";
import type { Place } from "./place.js";
import { type Postmaster, readPostmaster } from "./postmaster-file.js";
import { isSameProcess, lifeOf, type ProcessLife } from "./process-life.js";
import { isGoneWithin } from "./shut-down.js";

const POLL_MS = 10;
const SETTLE_TIMEOUT_MS = 60_000;
/** How long a server whose starter died may take to stop before it counts as an orphan. */
const FOLLOW_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const WRONG_PASSWORD = "28P01";

export interface Running {
  readonly postmaster: Postmaster;
  /** Its starter is dead and it was not detached: the process that finds it takes it over. */
  readonly orphan: boolean;
}

/** Waits for a server that is starting, recovering or stopping to settle. Null when there is none to use. */
export async function findRunning(world: World, place: Place): Promise<Running | null> {
  const giveUpAt = world.monotonicNow() + SETTLE_TIMEOUT_MS;
  let followed = false;
  for (;;) {
    const postmaster = await readPostmaster(place.data);
    if (postmaster === null) return null;
    const owner = await readOwner(place.owner);
    const orphan = owner === null || (!owner.detached && !isSameProcess(owner.starter));
    if (orphan && !followed) {
      // It is about to be stopped; returning it now would return a dying server.
      followed = true;
      if (await isGoneWithin(world, postmaster.life, FOLLOW_MS)) return null;
      continue;
    }
    if (postmaster.status === "ready" && (await answers(await urlOf(place, postmaster.port)))) {
      return { postmaster, orphan };
    }
    if (world.monotonicNow() > giveUpAt) {
      const { life, status } = postmaster;
      throw new EmbeddedFailed(`Process ${life.pid} serves ${place.folder} but does not answer (${status})`);
    }
    await sleep(world, POLL_MS);
  }
}

/** Who started the server of a folder, and on which port. */
interface Owner {
  readonly starter: ProcessLife;
  /** The server outlives its starter. */
  readonly detached: boolean;
  /** Used again at the next start if it is free, so that URLs held by other processes work again. */
  readonly port: number;
}

export async function readOwner(path: string): Promise<Owner | null> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Owner;
  } catch (error) {
    // A power failure leaves a partial file; there is no starter then either.
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return null;
    throw error;
  }
}

export async function writeOwner(world: World, path: string, owner: Omit<Owner, "starter">): Promise<void> {
  const starter = lifeOf(process.pid) ?? { pid: process.pid, birth: "unknown" };
  const draft = `${path}.${world.token()}`;
  await writeFile(draft, JSON.stringify({ starter, ...owner }), { mode: 0o644 });
  await rename(draft, path);
}

export async function urlOf(place: Place, port: number): Promise<string> {
  const password = (await readFile(place.password, "utf8")).trim();
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
}

/** SCRAM proves both sides: only the server of our own cluster knows our password. Throws when that proof fails. */
export async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("SELECT 1");
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === WRONG_PASSWORD) throw error;
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
