// One encoder per effect: what it writes into the journal, and what it does to the run's row.

import type { Effect, SettleEffect } from "../../kernel/effect.js";
import type { Payload } from "../../kernel/payload.js";

/** Null fields of a settling change leave the column to the statement's default. */
export interface RowChange {
  readonly state: string;
  readonly ends: boolean;
  readonly failed: boolean;
  /** Retry: until claimable. Park: until it wakes by itself, null for never. */
  readonly delayMs: number | null;
  readonly wakeAfter: number;
  readonly seenInboxSeq: number | null;
}

export interface EncodedEntry {
  readonly kind: string;
  readonly name: string;
  readonly key: string | null;
  readonly payload: Payload | null;
}

const give = (state: string, change: Partial<RowChange> = {}): RowChange => ({
  state,
  ends: false,
  failed: false,
  delayMs: null,
  wakeAfter: 1,
  seenInboxSeq: null,
  ...change,
});

export function entryOf(effect: Effect): EncodedEntry {
  switch (effect.kind) {
    case "append":
      return {
        kind: effect.entry.kind,
        name: effect.entry.name,
        key: effect.entry.key ?? null,
        payload: effect.entry.payload ?? null,
      };
    case "take":
      return { kind: "take", name: "", key: effect.messageKey, payload: null };
    case "enqueue":
      return { kind: "enqueue", name: effect.name, key: effect.run.id, payload: null };
    case "complete":
      return { kind: "completed", name: "", key: null, payload: effect.output };
    case "fail":
      return { kind: effect.as, name: "", key: null, payload: effect.reason };
    case "retry":
      return { kind: "retry", name: "", key: null, payload: effect.error };
    case "park":
      return { kind: "parked", name: "", key: null, payload: null };
    case "handBack":
      return { kind: "handed-back", name: "", key: null, payload: null };
    case "pause":
      return { kind: "paused", name: "", key: null, payload: null };
  }
}

export function changeOf(effect: SettleEffect): RowChange {
  switch (effect.kind) {
    case "complete":
      return give("completed", { ends: true });
    case "fail":
      return give(effect.as, { ends: true });
    case "retry":
      return give("waiting", { failed: true, delayMs: effect.delayMs });
    case "park":
      return give("parked", {
        delayMs: effect.wakeInMs,
        wakeAfter: effect.wakeAfter,
        seenInboxSeq: effect.seenInboxSeq,
      });
    case "handBack":
      return give("waiting");
    case "pause":
      return give("paused");
  }
}
