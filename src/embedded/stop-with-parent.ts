// Stops the server when this process ends in any way: a normal exit, Ctrl-C or kill -9.
//
// A shell waits on a pipe that only we hold; the kernel closes it when we end, and the shell requests a fast shutdown
// of the server. An 'exit' listener alone would miss every signal and leave a server behind after each Ctrl-C.

import { spawn } from "node:child_process";
import type { Place } from "./place.js";

/** By the time we end, the pid may belong to another process: postmaster.pid must still name it. */
const WATCH = 'read -r _; IFS= read -r now < "$2/postmaster.pid" && [ "$now" = "$1" ] && kill -INT "$1"';

/** Returns a function that cancels the watch. */
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
