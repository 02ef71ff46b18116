// The history of an instance, for people: marked fields are redacted.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { InstanceEvent } from "../store/contract/machine/machines.js";
import { redact } from "./redact.js";

/** One event of an instance's history, with marked fields redacted. */
export interface HistoryEntry {
  /** Its sequence number. */
  readonly seq: number;
  /** An event, a timer, the start or the end. */
  readonly kind: InstanceEvent["kind"];
  /** The event's type; for a timer, its name. */
  readonly type: string;
  /** The event; for the start, the input. */
  readonly event: unknown;
  /** Who sent it; null when it was not said. */
  readonly by: string | null;
  /** When it was applied; ms since 1970 on the database's clock. */
  readonly at: number;
}

export function historyOf(events: readonly InstanceEvent[], codecs: Codecs, paths: readonly string[]): HistoryEntry[] {
  return events.map(({ seq, kind, name, payload, by, at }) => {
    const value = codecs.decode(payload);
    return { seq, kind, type: name, event: redact(value, kind === "start" ? "input" : "event", paths), by, at };
  });
}
