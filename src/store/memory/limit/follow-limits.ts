// Updates a run's slots under limits when it moves: the counterpart of the database's trigger of the same name.

import { isEnded, type RunState } from "../../../kernel/run/run-state.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/** Returns the state that the run actually gets: it is held while one of its stages is not passed. */
export function followLimits(tables: Tables, row: RunRow, to: RunState, backsOff: boolean): RunState {
  if (!row.limited) return to;
  const stages = tables.limits.get(row.id) ?? [];
  // A quarantined run has not ended, but it must not block its key for as long as no node has fitting code.
  const ends = isEnded(to) || to === "quarantined";
  // A run that waits for its own tasks counts as running.
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
