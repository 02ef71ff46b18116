// What a run's move means for its places under limits: the database's trigger of the same name.

import { isEnded, type RunState } from "../../../kernel/run/run-state.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/** Answers the state that the run really gets: it is held while one of its stages is not passed. */
export function followLimits(tables: Tables, row: RunRow, to: RunState, backsOff: boolean): RunState {
  if (!row.limited) return to;
  const stages = tables.limits.get(row.id) ?? [];
  // Quarantined, it has not ended; but its key is not kept from others for as long as nobody has code that fits.
  const ends = isEnded(to) || to === "quarantined";
  // Whoever waits for its own tasks is at work.
  const parks = to === "parked" && row.pending === 0;
  if (ends || backsOff || parks || to === "paused" || to === "blocked") {
    for (const stage of stages) {
      const givenUp = stage.state === "granted" && (ends || stage.kind === "slots");
      if (stage.state === "waits" || givenUp) stage.state = "later";
    }
  }
  const next = to === "waiting" ? stages.find(({ state }) => state === "later") : undefined;
  if (!next) return to;
  next.state = "waits";
  next.priority = next.kind === "serial" ? 0 : row.priority;
  next.availableAtUs = row.availableAtUs;
  return "held";
}
