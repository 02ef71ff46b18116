// Reads what the holder has not taken into the journal yet, in order of acceptance.

import type { Message } from "../contract/inbox.js";
import { unreadMessages } from "./deliver-message.js";
import { toMs } from "./micros.js";
import { copyPayload } from "./payload.js";
import type { Tables } from "./tables.js";

export function readInbox(tables: Tables, runId: string): readonly Message[] {
  return unreadMessages(tables, runId).map(({ key, messageId, kind, name, payload, sender, atUs }) => {
    return { runId, key, messageId, kind, name, payload: copyPayload(payload), sender, at: toMs(atUs) };
  });
}
