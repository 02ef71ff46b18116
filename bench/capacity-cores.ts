// The cores of the machine: how busy they are, and processes restricted to one of them with `taskset` of util-linux.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";

/** Of this process, as `taskset` writes them: "0-1", "0,2". */
export function allowedCores(): string {
  if (process.platform !== "linux") return `0-${availableParallelism() - 1}`;
  return /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync("/proc/self/status", "utf8"))![1]!;
}

export function coresIn(list: string): number[] {
  return list.split(",").flatMap((range) => {
    const [first, last = first] = range.split("-").map(Number) as [number, number?];
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

export const canRestrict = () => spawnSync("taskset", ["--version"]).status === 0;

/** All threads of the processes; one that has ended in between needs nothing. */
export function restrict(pids: readonly number[], cores: string): void {
  for (const pid of pids) spawnSync("taskset", ["-a", "-p", "-c", cores, String(pid)]);
}

/** Time that these cores have spent on any program, in microseconds. */
export function busyUs(cores: readonly number[]): number {
  const all = cpus();
  return cores.reduce((sum, core) => {
    const { user, nice, sys, irq } = all[core]!.times;
    return sum + (user + nice + sys + irq) * 1_000;
  }, 0);
}
