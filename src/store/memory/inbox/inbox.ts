// The inbox: each message key is accepted once per run, and a message wakes a parked run.

import { omit } from "../../../kernel/omit.js";
import { isEnded } from "../../../kernel/run/run-state.js";
import type { InboxStore, NewMessage, SendAnswer } from "../../contract/inbox/inbox.js";
import type { Wakes } from "../node/wakes.js";
import { shown } from "../table/micros.js";
import { copyPayload } from "../table/payload.js";
import type { Tables } from "../table/tables.js";
import { tablesSeenBy } from "../table/transaction.js";
import { findMessage, storeMessage, unreadMessages, wakeRun } from "./deliver-message.js";

export function memoryInbox(tables: Tables, wakes: Wakes): InboxStore {
  return {
    send: async (messages, { tx } = {}) => {
      const seen = tablesSeenBy(tables, tx);
      return wakes.after(messages.map((message) => send(seen, message, { wakes: tx === undefined })));
    },
    unread: async (runId) =>
      unreadMessages(tables, runId).map((row) => ({
        ...omit(shown(row), "id", "takenSeq"),
        payload: copyPayload(row.payload),
      })),
  };
}

/** A caller's transaction only inserts, and wakes no run: `wakeParked` finds the message later. */
function send(tables: Tables, message: NewMessage, { wakes }: { readonly wakes: boolean }): SendAnswer {
  const nowUs = tables.nowUs();
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
  if (wakes) wakeRun(tables, row, nowUs);
  return { outcome: "accepted" };
}
