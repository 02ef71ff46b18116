// The operations on inboxes as values. A message that cannot be stored is refused alone.

import { InvalidInput } from "../../../kernel/error.js";
import { isUuid } from "../../../kernel/id.js";
import { dedupeKey, nodeName, signalName } from "../../../kernel/name.js";
import type { InboxStore, MessageKind, NewMessage } from "../../contract/inbox/inbox.js";
import { CHANGES, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { among, checkPayload, checkUuid, named, optional, type Problem, shape, whole } from "../value.js";

const KINDS: readonly MessageKind[] = ["signal", "decision", "timeout", "cancel", "child"];

/** The forms of keys that have a meaning: with another kind, an unrelated message would replace the real one. */
const FORMS: readonly { readonly form: RegExp; readonly kinds: readonly MessageKind[] }[] = [
  { form: /^cancel$/, kinds: ["cancel"] },
  { form: /^child:/, kinds: ["child"] },
  { form: /^signal:/, kinds: ["signal"] },
  { form: /^pause:/, kinds: ["pause"] },
  { form: /^wait:/, kinds: ["decision", "timeout", "cancel"] },
];

const checkFields = whole(
  shape<NewMessage>("message", {
    runId: checkUuid,
    key: named(dedupeKey),
    messageId: checkUuid,
    kind: among(KINDS),
    name: named(signalName),
    payload: optional(checkPayload),
    sender: optional(named(nodeName)),
  }),
);

export const INBOX_OPERATIONS = {
  send: {
    ...CHANGES,
    changes: "inboxes, and parked runs that a message wakes",
    tx: true,
    each: {
      checker: () => (message) => checkFields(message) ?? checkForm(message),
      refused: (_, error) => ({ outcome: "refused", error }),
    },
    batch: { ...MOST_AT_ONCE, sizeOf: (message) => ({ rows: 1, bytes: message?.payload?.data?.length ?? 0 }) },
  },
  unread: { ...READS, absent: { when: (runId) => !isUuid(runId), answer: [] } },
} satisfies OperationsOf<InboxStore>;

function checkForm({ key, kind }: NewMessage): Problem {
  const kinds = FORMS.find(({ form }) => form.test(key))?.kinds;
  if (!kinds || kinds.includes(kind)) return null;
  return new InvalidInput("key", `${JSON.stringify(key)} is for a ${kinds.join(", a ")}, not for a ${kind}`);
}
