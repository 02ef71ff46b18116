// Reads the messages that are not in the journal yet, in order of acceptance.

import type { Message } from "../../contract/inbox/inbox.js";
import { toMs } from "../table/micros.js";
import { copyPayload } from "../table/payload.js";
import type { Tables } from "../table/tables.js";
import { unreadMessages } from "./deliver-message.js";

export function readInbox(tables: Tables, runId: string): readonly Message[] {
  return unreadMessages(tables, runId).map(({ key, messageId, kind, name, payload, sender, atUs }) => {
    return { runId, key, messageId, kind, name, payload: copyPayload(payload), sender, at: toMs(atUs) };
  });
}
