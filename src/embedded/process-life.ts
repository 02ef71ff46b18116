// Whether a process still exists and is still the same one: pids are reused, which is likely after a container restart.

import { readFileSync, statSync } from "node:fs";

export interface ProcessLife {
  readonly pid: number;
  /** Boot id and start tick on Linux; elsewhere a constant, so that only the pid counts. */
  readonly birth: string;
}

export function lifeOf(pid: number): ProcessLife | null {
  if (process.platform !== "linux") return answersSignal(pid) ? { pid, birth: "unknown" } : null;
  try {
    // The name in parentheses may contain spaces; the fields after it do not.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    // A zombie counts as gone: if pid 1 does not reap, it would seem to live for ever.
    if (fields[0] === "Z" || fields[0] === "X") return null;
    return { pid, birth: `${bootId()}:${fields[19]}` };
  } catch {
    return null;
  }
}

export function isSameProcess(life: ProcessLife): boolean {
  return lifeOf(life.pid)?.birth === life.birth;
}

/**
 * Every PostgreSQL process works in its data folder. Returns null where that cannot be read. Compares resolved paths: a
 * project reached through a symbolic link has two paths, and a wrong "no" here would let two servers in.
 */
export function worksIn(pid: number, folder: string): boolean | null {
  try {
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(folder)];
    return theirs.ino === ours.ino && theirs.dev === ours.dev;
  } catch {
    return null;
  }
}

function answersSignal(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
