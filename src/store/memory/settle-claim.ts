// Gives a claim back: what the last effect of a commit makes of the run.

import type { SettleEffect } from "../../kernel/effect.js";
import { findMessage } from "./deliver-message.js";
import { endRun } from "./end-run.js";
import { toUs } from "./micros.js";
import { moveRun } from "./move-run.js";
import type { RunRow } from "./rows.js";
import type { Tables } from "./tables.js";

export function settleClaim(tables: Tables, row: RunRow, effect: SettleEffect, nowUs: number): void {
  switch (effect.kind) {
    case "complete":
      endRun(tables, row, "completed", nowUs);
      return;
    case "fail":
      endRun(tables, row, effect.as, nowUs);
      return;
    case "retry":
      row.availableAtUs = nowUs + toUs(effect.delayMs);
      row.failures++;
      moveRun(tables, row, "waiting", { backsOff: true });
      return;
    case "park":
      row.wakeAfter = effect.wakeAfter;
      // A message that came between the holder's look into the inbox and now must not be slept through.
      if (row.inboxSeq > effect.seenInboxSeq) {
        row.availableAtUs = nowUs;
        moveRun(tables, row, "waiting");
      } else {
        moveRun(tables, row, "parked");
        row.wakeAtUs = effect.wakeInMs === null ? null : nowUs + toUs(effect.wakeInMs);
      }
      return;
    case "handBack":
      moveRun(tables, row, "waiting");
      return;
    case "continue":
      moveRun(tables, row, "waiting");
      row.baseSeq = row.seq - 1;
      row.generation++;
      row.failures = 0;
      for (const key of effect.reopen) {
        const message = findMessage(tables, row.id, key);
        if (message) message.takenSeq = null;
      }
      return;
    case "pause":
      moveRun(tables, row, "paused");
      return;
  }
}
