// Releases a claim: applies the last effect of a commit to the run.

import type { SettleEffect } from "../../../kernel/run/effect.js";
import { findMessage } from "../inbox/deliver-message.js";
import { type Ended, endRun } from "../run/end-run.js";
import { giveToOthers } from "../run/misfits.js";
import { moveRun, nextGeneration } from "../run/move-run.js";
import { toUs } from "../table/micros.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

/** Returns the run's end, if the effect ends it. */
export function settleClaim(tables: Tables, row: RunRow, effect: SettleEffect, nowUs: number): Ended | null {
  switch (effect.kind) {
    case "complete":
      return endRun(tables, row, "completed", nowUs);
    case "fail":
      if (effect.as === "quarantined") {
        moveRun(tables, row, "quarantined");
        row.endedAtUs = nowUs;
        return null;
      }
      return endRun(tables, row, effect.as, nowUs);
    case "retry":
      row.availableAtUs = nowUs + toUs(effect.delayMs);
      row.failures++;
      moveRun(tables, row, "waiting", { backsOff: true });
      return null;
    case "park":
      row.wakeAfter = effect.wakeAfter;
      // A message that arrived after the holder read the inbox must not be slept through.
      if (row.inboxSeq > effect.seenInboxSeq || (effect.forTasks && row.pending === 0)) {
        row.availableAtUs = nowUs;
        moveRun(tables, row, "waiting");
      } else {
        moveRun(tables, row, "parked");
        const wakes = row.state === "parked" && effect.wakeInMs !== null;
        if (wakes) row.wakeAtUs = nowUs + toUs(effect.wakeInMs);
      }
      return null;
    case "handBack":
      moveRun(tables, row, "waiting");
      return null;
    case "misfit":
      giveToOthers(tables, row, effect, nowUs);
      return null;
    case "continue":
      moveRun(tables, row, "waiting");
      row.baseSeq = row.seq - 1;
      nextGeneration(row);
      row.failures = 0;
      for (const key of effect.reopen) {
        const message = findMessage(tables, row.id, key);
        if (message) message.takenSeq = null;
      }
      return null;
    case "pause":
      moveRun(tables, row, "paused");
      return null;
  }
}
