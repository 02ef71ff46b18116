// Checks limits: never more runs are admitted under a key than its limit allows, counted from the runs' own states.

import type { RunState } from "../../kernel/run/run-state.js";
import type { History } from "./history.js";
import { foundSkipped } from "./overflow.js";

const AT_WORK: readonly RunState[] = ["waiting", "running"];
/** A serial run keeps its place also while it waits. */
const BEGUN: readonly RunState[] = ["waiting", "running", "parked", "paused"];

/** Other operations admit, too: held runs are looked at after each. */
export function checkLimits(history: History): void {
  if (history.tables.limits.size === 0) return;
  const admitted = new Map<string, { count: number; max: number; serial: boolean }>();
  for (const run of history.runs.values()) {
    if (run.limits.length === 0) continue;
    if (run.state === "held" && !foundSkipped(history, run)) history.observe(run);
    for (const { kind, key, max } of run.limits) {
      if (kind === "rate") continue;
      const name = `${run.env} ${key}`;
      const sum = admitted.get(name) ?? { count: 0, max: 0, serial: kind === "serial" };
      // One that was paused before it was granted may have been held.
      const isHeld = run.state === "paused" && run.epoch === 0;
      if (!isHeld && (sum.serial ? BEGUN : AT_WORK).includes(run.state)) sum.count++;
      sum.max = Math.max(sum.max, max);
      admitted.set(name, sum);
    }
  }
  for (const [key, { count, max, serial }] of admitted) {
    if (count > max)
      history.broken(serial ? "S14" : "S15", null, `${count} admitted under ${key}, the limit is ${max}`);
  }
}
