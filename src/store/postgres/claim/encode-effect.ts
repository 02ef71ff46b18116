// Encodes what each effect that releases the claim changes in the run's row.

import { ends, type SettleEffect } from "../../../kernel/run/effect.js";

/** Null fields of a settling change leave the column to the statement's default. */
export interface RowChange {
  readonly state: string;
  readonly ends: boolean;
  readonly failed: boolean;
  /** Begins the next generation with the entry it writes. */
  readonly continues: boolean;
  /** Retry: until claimable. Park: until it wakes without a message, null for never. */
  readonly delayMs: number | null;
  readonly wakeAfter: number;
  readonly seenInboxSeq: number | null;
}

const give = (state: string, change: Partial<RowChange> = {}): RowChange => ({
  state,
  ends: false,
  failed: false,
  continues: false,
  delayMs: null,
  wakeAfter: 1,
  seenInboxSeq: null,
  ...change,
});

export function changeOf(effect: SettleEffect): RowChange {
  switch (effect.kind) {
    case "complete":
      return give("completed", { ends: true });
    case "fail":
      return give(effect.as, { ends: ends(effect) });
    case "retry":
      return give("waiting", { failed: true, delayMs: effect.delayMs });
    case "park":
      return give("parked", {
        delayMs: effect.wakeInMs,
        wakeAfter: effect.wakeAfter,
        seenInboxSeq: effect.seenInboxSeq,
      });
    case "handBack":
    case "misfit":
      return give("waiting");
    case "continue":
      return give("waiting", { continues: true });
    case "pause":
      return give("paused");
  }
}
