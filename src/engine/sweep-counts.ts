// What a sweep did with the orphans it saw, counted.

import type { Reclaimed } from "../store/contract/runs.js";
import type { SweepCounts } from "./events.js";

export function sweepCounts(reclaimed: readonly Reclaimed[], seen: number): SweepCounts {
  const restarted = reclaimed.filter(({ outcome }) => outcome === "waiting" || outcome === "restarted").length;
  const failed = reclaimed.filter(({ outcome }) => outcome === "failed" || outcome === "dead").length;
  return { restarted, failed, skipped: seen - restarted - failed };
}
