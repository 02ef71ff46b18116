// Checks whether a message can be stored; an invalid one is refused alone.

import { InvalidInput } from "../../../kernel/error.js";
import { dedupeKey, nodeName, signalName } from "../../../kernel/name.js";
import type { MessageKind } from "../../contract/inbox/inbox.js";
import { checkName, checkObject, checkOneOf, checkPayload, checkUuid, optional, type Problem } from "../value.js";

const KINDS: readonly MessageKind[] = ["signal", "decision", "timeout", "cancel", "child"];

/** The forms of keys that have a meaning: with another kind, an unrelated message would replace the real one. */
const FORMS: readonly { readonly form: RegExp; readonly kinds: readonly MessageKind[] }[] = [
  { form: /^cancel$/, kinds: ["cancel"] },
  { form: /^child:/, kinds: ["child"] },
  { form: /^signal:/, kinds: ["signal"] },
  { form: /^pause:/, kinds: ["pause"] },
  { form: /^wait:/, kinds: ["decision", "timeout", "cancel"] },
];

export function checkMessage(message: unknown): Problem {
  const problem = checkObject("message", message);
  if (problem) return problem;
  const { runId, key, messageId, kind, name, payload, sender } = message as Record<string, unknown>;
  return (
    checkUuid("runId", runId) ??
    checkName(dedupeKey, "key", key) ??
    checkUuid("messageId", messageId) ??
    checkOneOf("kind", kind, KINDS) ??
    checkForm(key as string, kind as MessageKind) ??
    checkName(signalName, "name", name) ??
    optional(checkPayload)("payload", payload) ??
    optional((path, value) => checkName(nodeName, path, value))("sender", sender)
  );
}

function checkForm(key: string, kind: MessageKind): Problem {
  const kinds = FORMS.find(({ form }) => form.test(key))?.kinds;
  if (!kinds || kinds.includes(kind)) return null;
  return new InvalidInput("key", `${JSON.stringify(key)} is for a ${kinds.join(", a ")}, not for a ${kind}`);
}
