// The one journal entry that each effect writes; both stores write the same.

import type { Payload } from "../codec/payload.js";
import type { Effect } from "./effect.js";

export interface EffectEntry {
  readonly kind: string;
  readonly name: string;
  readonly key: string | null;
  readonly payload: Payload | null;
}

/** A taken message's name and payload are the message's own: the store fills them in. */
export function entryOf(effect: Effect): EffectEntry {
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
      return { kind: effect.task ? "task" : "enqueue", name: effect.name, key: effect.run.id, payload: null };
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
    case "misfit":
      return { kind: "misfit", name: effect.build, key: null, payload: effect.reason };
    case "continue":
      return { kind: "start", name: "", key: null, payload: effect.input };
    case "pause":
      return { kind: "paused", name: "", key: null, payload: null };
  }
}
