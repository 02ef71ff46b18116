// Whether a message can be stored; a bad one is refused alone.

import { dedupeKey, nodeName, signalName } from "../../kernel/name.js";
import type { NewMessage } from "../contract/inbox.js";
import { checkName, checkPayload, checkUuid, type Problem } from "./value.js";

export function checkMessage(message: NewMessage): Problem {
  return (
    checkUuid("runId", message.runId) ??
    checkName(dedupeKey, "key", message.key) ??
    checkUuid("messageId", message.messageId) ??
    checkName(signalName, "name", message.name) ??
    checkPayload("payload", message.payload) ??
    checkName(nodeName, "sender", message.sender)
  );
}
