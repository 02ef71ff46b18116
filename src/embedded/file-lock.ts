// A lock file, so that of several processes starting on one folder one starts and the others reuse.
//
// It is a convenience, not the last line of defence: the cluster appears by one atomic rename, and PostgreSQL's own
// postmaster.pid refuses a second server. So the one known race (three processes breaking the same dead lock within
// microseconds) costs a failed start, never data.

import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { sleep, type World } from "../kernel/world.js";
import { EmbeddedFailed } from "./error.js";
import { isSameProcess, lifeOf, type ProcessLife } from "./process-life.js";

const POLL_MS = 20;
const LONGEST_WAIT_MS = 120_000;

interface Holder extends ProcessLife {
  readonly token: string;
}

export async function withFileLock<T>(world: World, path: string, body: () => Promise<T>): Promise<T> {
  const mine: Holder = { ...(lifeOf(process.pid) ?? { pid: process.pid, birth: "unknown" }), token: world.token() };
  await acquire(world, path, mine);
  try {
    return await body();
  } finally {
    if ((await readHolder(path))?.token === mine.token) await rm(path, { force: true });
  }
}

async function acquire(world: World, path: string, mine: Holder): Promise<void> {
  const giveUpAt = world.monotonicNow() + LONGEST_WAIT_MS;
  // Written to a draft and linked, so that a reader always sees the whole lock.
  const draft = `${path}.${mine.token}`;
  await writeFile(draft, JSON.stringify(mine), { mode: 0o644 });
  try {
    while (!(await tryLink(draft, path))) {
      const holder = await readHolder(path);
      if (holder !== null && !isSameProcess(holder)) {
        await breakLock(path, holder, mine.token);
        continue;
      }
      if (world.monotonicNow() > giveUpAt) {
        throw new EmbeddedFailed(`Process ${holder?.pid} has held ${path} for ${LONGEST_WAIT_MS / 1000} s`);
      }
      await sleep(world, POLL_MS);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

async function tryLink(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Moves a dead holder's lock away; puts it back if it turns out to be a newer one. */
async function breakLock(path: string, dead: Holder, token: string): Promise<void> {
  const aside = `${path}.${token}.broken`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  if ((await readHolder(aside))?.token !== dead.token) await tryLink(aside, path);
  await rm(aside, { force: true });
}

async function readHolder(path: string): Promise<Holder | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    return JSON.parse(text) as Holder;
  } catch {
    // A partial lock is never visible while the machine runs: it lost power, and the holder with it.
    return { pid: 0, birth: "", token: text };
  }
}
