// Stops a server, on request or with this process: fast shutdown first, immediate shutdown when that takes too long.

import { spawn } from "node:child_process";
import { sleep, type World } from "../kernel/world.js";
import { EmbeddedFailed } from "./error.js";
import type { Place } from "./place.js";
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

/** By the time we end, the pid may belong to another process: postmaster.pid must still name it. */
const WATCH = 'read -r _; IFS= read -r now < "$2/postmaster.pid" && [ "$now" = "$1" ] && kill -INT "$1"';

/**
 * Stops the server when this process ends in any way: a normal exit, Ctrl-C or kill -9. Returns a function that cancels the watch.
 *
 * A shell waits on a pipe that only we hold; the kernel closes it when we end, and the shell requests a fast shutdown
 * of the server. An 'exit' listener alone would miss every signal and leave a server behind after each Ctrl-C.
 */
export function stopWithParent(place: Place, pid: number): () => void {
  if (process.platform === "win32") return stopAtExit(pid);
  const shell = spawn("/bin/sh", ["-c", WATCH, "holdfast-watch", String(pid), place.data], {
    ...place.account,
    cwd: "/",
    env: {},
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.on("error", () => {});
  shell.stdin.on("error", () => {});
  shell.unref();
  // A pipe to a child is a socket in Node, and would keep our event loop alive.
  (shell.stdin as unknown as { unref(): void }).unref();
  return () => {
    shell.kill("SIGKILL");
  };
}

/** Windows has no such shell and ends the process at once: the next start recovers from the WAL. */
function stopAtExit(pid: number): () => void {
  const onExit = () => void process.kill(pid);
  process.once("exit", onExit);
  return () => process.off("exit", onExit);
}
