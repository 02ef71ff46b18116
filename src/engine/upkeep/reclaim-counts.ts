// Counts what happened to the orphans that a round of reclaiming found.

import type { Reclaimed } from "../../store/contract/run/runs.js";
import type { Telemetry } from "../../telemetry/bus.js";
import type { EngineEvents, SweepCounts } from "../events.js";

export function sweepCounts(reclaimed: readonly Reclaimed[], seen: number): SweepCounts {
  const restarted = reclaimed.filter(({ outcome }) => outcome === "waiting" || outcome === "restarted").length;
  const failed = reclaimed.filter(({ outcome }) => outcome === "failed" || outcome === "dead").length;
  return { restarted, failed, skipped: seen - restarted - failed };
}

/** Reports what this node reclaimed, by whatever way. */
export function reportReclaimed(bus: Telemetry<EngineEvents>, reclaimed: readonly Reclaimed[]): void {
  for (const one of reclaimed) bus.emit("run.reclaimed", one);
  if (reclaimed.length > 0) {
    bus.emit("recovery.sweep", { ...sweepCounts(reclaimed, reclaimed.length), staleAfterMs: 0 });
  }
}
