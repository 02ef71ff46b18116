// Sends messages: each key is accepted once per run, and a parked run wakes by it.

import { isEnded } from "../../kernel/run-state.js";
import type { NewMessage, SendAnswer } from "../contract/inbox.js";
import { checkPayload, checkText, checkUuid, firstProblem } from "./check-value.js";
import { findMessage, ringRun, storeMessage } from "./deliver-message.js";
import type { Tables } from "./tables.js";

/** `ring: false` inside a caller's transaction, where only INSERTs happen: `wakeParked` finds the message later. */
export function sendMessages(
  tables: Tables,
  messages: readonly NewMessage[],
  options: { readonly ring: boolean },
): readonly SendAnswer[] {
  messages.forEach(refuseBadMessage);
  const nowUs = tables.nowUs();
  return messages.map((message) => {
    const { runId, key, messageId } = message;
    const row = tables.runs.get(runId);
    if (!row) return { outcome: "unknown" };
    const earlier = findMessage(tables, runId, key);
    // Also when the run has ended since: this message was accepted, only the reply got lost.
    if (earlier?.messageId === messageId) return { outcome: "accepted" };
    if (isEnded(row.state)) return { outcome: "ended", state: row.state };
    if (earlier) {
      const { kind, sender } = earlier;
      return { outcome: "already", by: { messageId: earlier.messageId, kind, sender } };
    }
    storeMessage(tables, message, nowUs);
    if (options.ring) ringRun(tables, row, nowUs);
    return { outcome: "accepted" };
  });
}

/** The contract's answers have no `refused`, so the call is refused as a whole, before anything is written. */
function refuseBadMessage(message: NewMessage, i: number): void {
  const path = `messages[${i}]`;
  const error = firstProblem(
    () => checkText(`${path}.key`, message.key),
    () => checkUuid(`${path}.messageId`, message.messageId),
    () => checkText(`${path}.name`, message.name),
    () => checkPayload(`${path}.payload`, message.payload),
    () => checkText(`${path}.sender`, message.sender),
  );
  if (error) throw error;
}
