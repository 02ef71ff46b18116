// Stops a server: fast shutdown first, immediate shutdown when that takes too long.

import { sleep, type World } from "../kernel/world.js";
import { EmbeddedFailed } from "./error.js";
import { isSameProcess, type ProcessLife } from "./process-life.js";

const POLL_MS = 5;
const FAST_TIMEOUT_MS = 15_000;
const IMMEDIATE_TIMEOUT_MS = 5_000;

export async function shutDown(world: World, server: ProcessLife): Promise<void> {
  // Fast: sessions are rolled back and closed, a checkpoint is written. Immediate: the next start recovers from the WAL.
  if (await endsAfter(world, server, "SIGINT", FAST_TIMEOUT_MS)) return;
  if (await endsAfter(world, server, "SIGQUIT", IMMEDIATE_TIMEOUT_MS)) return;
  throw new EmbeddedFailed(`The PostgreSQL server with pid ${server.pid} does not stop`);
}

/** Returns whether the process ended in time. */
export async function isGoneWithin(world: World, server: ProcessLife, ms: number): Promise<boolean> {
  const giveUpAt = world.monotonicNow() + ms;
  while (isSameProcess(server)) {
    if (world.monotonicNow() > giveUpAt) return false;
    await sleep(world, POLL_MS);
  }
  return true;
}

function endsAfter(world: World, server: ProcessLife, signal: NodeJS.Signals, ms: number): Promise<boolean> {
  try {
    if (isSameProcess(server)) process.kill(server.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
  return isGoneWithin(world, server, ms);
}
