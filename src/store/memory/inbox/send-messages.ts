// Sends messages: each key is accepted once per run, and wakes a parked run.

import { isEnded } from "../../../kernel/run/run-state.js";
import type { NewMessage, SendAnswer } from "../../contract/inbox/inbox.js";
import type { Tables } from "../table/tables.js";
import { findMessage, storeMessage, wakeRun } from "./deliver-message.js";

/** `ring: false` inside a caller's transaction, which only inserts: `wakeParked` finds the message later. */
export function sendMessages(
  tables: Tables,
  messages: readonly NewMessage[],
  options: { readonly ring: boolean },
): readonly SendAnswer[] {
  const nowUs = tables.nowUs();
  return messages.map((message) => {
    const { runId, key, messageId } = message;
    const row = tables.runs.get(runId);
    if (!row) return { outcome: "unknown" };
    const earlier = findMessage(tables, runId, key);
    // Also when the run has ended since: this message was accepted, only the answer got lost.
    if (earlier?.messageId === messageId) return { outcome: "accepted" };
    if (isEnded(row.state)) return { outcome: "ended", state: row.state };
    if (earlier) {
      const { kind, sender } = earlier;
      return { outcome: "already", by: { messageId: earlier.messageId, kind, sender } };
    }
    storeMessage(tables, message, nowUs);
    if (options.ring) wakeRun(tables, row, nowUs);
    return { outcome: "accepted" };
  });
}
