// The operations on inboxes as values.

import { isUuid } from "../../../kernel/id.js";
import type { InboxStore } from "../../contract/inbox/inbox.js";
import { CHANGES, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkMessage } from "./message.js";

export const INBOX_OPERATIONS = {
  send: {
    ...CHANGES,
    changes: "inboxes, and parked runs that a message wakes",
    tx: true,
    each: { checker: () => checkMessage, refused: (_, error) => ({ outcome: "refused", error }) },
    batch: { ...MOST_AT_ONCE, sizeOf: (message) => ({ rows: 1, bytes: message?.payload?.data?.length ?? 0 }) },
  },
  unread: { ...READS, absent: { when: (runId) => !isUuid(runId), answer: [] } },
} satisfies OperationsOf<InboxStore>;
