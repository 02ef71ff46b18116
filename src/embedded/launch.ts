// Starts the server process on a free port and waits until it answers.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { open, readFile, rename } from "node:fs/promises";
import { createServer } from "node:net";
import { sleep, type World } from "../kernel/world.js";
import { EmbeddedFailed } from "./error.js";
import { answers, readOwner, urlOf, writeOwner } from "./find-running.js";
import type { Place } from "./place.js";
import { type Postmaster, readPostmaster, removeForeignPostmasterFile } from "./postmaster-file.js";
import type { UsableBinaries } from "./usable-binaries.js";

const POLL_MS = 5;
/** Crash recovery replays up to max_wal_size; that takes seconds, not minutes. */
const START_TIMEOUT_MS = 60_000;
const PORT_ATTEMPTS = 5;
const LOG_TAIL_LINES = 20;

export async function launch(
  world: World,
  place: Place,
  binaries: UsableBinaries,
  options: { readonly detached: boolean; readonly settings: Readonly<Record<string, string>> },
): Promise<Postmaster> {
  await removeForeignPostmasterFile(place.data);
  const last = await readOwner(place.owner);
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(attempt === 1 ? (last?.port ?? null) : null);
    // Written before the process exists: however early this process dies, the server's owner is known.
    await writeOwner(world, place.owner, { detached: options.detached, port });
    await world.faultPoint("embedded:port-chosen");
    const server = await spawnServer(place, binaries, serverArgs(place, port, options.settings));
    const postmaster = await untilAnswers(world, place, server);
    if (postmaster !== null) return postmaster;
    const log = await logTail(place);
    const portTaken = /Address already in use|could not create any TCP\/IP sockets/.test(log);
    if (!portTaken || attempt === PORT_ATTEMPTS) {
      throw new EmbeddedFailed(`PostgreSQL did not start in ${place.folder} (see ${place.log})`, { log });
    }
  }
}

function serverArgs(place: Place, port: number, extra: Readonly<Record<string, string>>): string[] {
  const settings = {
    max_connections: "200",
    shared_buffers: "128MB",
    fsync: "on",
    synchronous_commit: "on",
    TimeZone: "UTC",
    log_timezone: "UTC",
    ...extra,
    listen_addresses: "127.0.0.1",
    port: String(port),
    // A socket's path is limited to 107 bytes, and the project's folder may be longer.
    unix_socket_directories: "",
  };
  return ["-D", place.data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}

async function spawnServer(place: Place, binaries: UsableBinaries, args: string[]): Promise<ChildProcess> {
  if (existsSync(place.log)) await rename(place.log, `${place.log}.1`);
  const log = await open(place.log, "w", 0o600);
  try {
    const server = spawn(binaries.postgres, args, {
      ...place.account,
      cwd: place.folder,
      env: binaries.env,
      stdio: ["ignore", log.fd, log.fd],
      // A session of its own: Ctrl-C goes to the application, which may still need its database to shut down.
      detached: true,
      windowsHide: true,
    });
    server.on("error", () => {});
    server.unref();
    return server;
  } finally {
    await log.close();
  }
}

/** Null when the process ended first. */
async function untilAnswers(world: World, place: Place, server: ChildProcess): Promise<Postmaster | null> {
  const giveUpAt = world.monotonicNow() + START_TIMEOUT_MS;
  while (server.pid !== undefined && server.exitCode === null && server.signalCode === null) {
    const postmaster = await readPostmaster(place.data);
    // The file may still be that of a server that is gone.
    if (postmaster?.status === "ready" && postmaster.life.pid === server.pid) {
      if (await answers(await urlOf(place, postmaster.port))) return postmaster;
    }
    if (world.monotonicNow() > giveUpAt) {
      server.kill("SIGQUIT");
      const log = await logTail(place);
      throw new EmbeddedFailed(`PostgreSQL did not answer within ${START_TIMEOUT_MS / 1000} s`, { log });
    }
    await sleep(world, POLL_MS);
  }
  return null;
}

async function logTail(place: Place): Promise<string> {
  const text = await readFile(place.log, "utf8").catch(() => "");
  return text.trimEnd().split("\n").slice(-LOG_TAIL_LINES).join("\n");
}

/**
 * The preferred port if it is free, otherwise any. Another process may take it before the server does: the caller tries
 * again.
 */
export async function freePort(preferred: number | null): Promise<number> {
  if (preferred !== null) {
    const same = await tryListen(preferred).catch(() => null);
    if (same !== null) return same;
  }
  return tryListen(0);
}

function tryListen(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => {
      const address = server.address();
      const found = typeof address === "object" && address !== null ? address.port : port;
      server.close(() => resolve(found));
    });
  });
}
