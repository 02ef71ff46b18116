// Whether a process is still there, and still the same one: pids are reused, after a restarted
// container even likely so.

import { readFileSync, statSync } from "node:fs";

export interface ProcessLife {
  readonly pid: number;
  /** Boot id and start tick on Linux; elsewhere a constant, so that only the pid counts. */
  readonly birth: string;
}

export function lifeOf(pid: number): ProcessLife | null {
  if (process.platform !== "linux") return answersSignal(pid) ? { pid, birth: "unknown" } : null;
  try {
    // The name in parentheses may hold spaces; the fields after it do not.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    // A zombie is gone: where pid 1 reaps nobody it would seem to live for ever.
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
 * Every PostgreSQL process works in its data folder. Answers null where that cannot be seen. Compares what the paths
 * lead to: a project reached through a symbolic link has two paths, and a wrong "no" here would let two servers in.
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
