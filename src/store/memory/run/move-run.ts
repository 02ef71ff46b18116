// Moves a run to another state or generation; rejects what the database's trigger rejects.

import { HoldfastError } from "../../../kernel/error.js";
import { isEnded, mayMove, REOPENED_WITH_DAG, type RunState } from "../../../kernel/run/run-state.js";
import type { RunRow } from "../table/rows.js";
import { indexRun, type Tables } from "../table/tables.js";

/** A bug in the store: no caller can cause it. */
export class IllegalMove extends HoldfastError {
  readonly code = "ILLEGAL_MOVE";

  constructor(runId: string, from: RunState, to: RunState) {
    super(`Run ${runId}: ${from} to ${to} is not a legal move. This is a bug in the store; please report it.`);
  }
}

/**
 * A run leaves `running` without its claim and `parked` without its wake-up time. `availableAtUs` is set before,
 * because it determines the position in line.
 */
export function moveRun(tables: Tables, row: RunRow, wanted: RunState, { backsOff = false } = {}): void {
  const to = followLimits(tables, row, answerPause(row, wanted), backsOff);
  const legal = mayMove(row.state, to) && (!REOPENED_WITH_DAG.includes(row.state) || row.counts);
  if (to !== row.state && !legal) throw new IllegalMove(row.id, row.state, to);
  tables.byState.get(row.state)?.delete(row);
  if (row.state === "quarantined") row.endedAtUs = null;
  row.state = to;
  indexRun(tables, row);
  row.wakeAtUs = null;
  if (to !== "running") {
    row.token = null;
    row.owner = null;
    row.leaseUntilUs = null;
  }
}

/**
 * A run to be paused becomes paused when it is released: the counterpart of the database's trigger of the same name.
 */
function answerPause(row: RunRow, wanted: RunState): RunState {
  if (!row.pausing || wanted === row.state) return wanted;
  row.pausing = false;
  return wanted === "waiting" || wanted === "held" || wanted === "parked" ? "paused" : wanted;
}

/**
 * Another generation has another journal: every build may be tried again, as in the database's trigger forget_misfits.
 */
export function nextGeneration(row: RunRow): void {
  row.generation++;
  row.misfits = null;
}

/**
 * Updates its slots under limits: the counterpart of the database's trigger of the same name. Returns the state that the run
 * actually gets: it is held while one of its stages is not passed.
 */
function followLimits(tables: Tables, row: RunRow, to: RunState, backsOff: boolean): RunState {
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
