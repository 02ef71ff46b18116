// The operations on journals as values.

import { isUuid } from "../../../kernel/id.js";
import type { JournalStore } from "../../contract/journal/journal.js";
import { MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkSeq, checkText, checkUuid, shape, whole } from "../value.js";

const checkPart = shape<{ after?: number; limit?: number }>("part", {
  after: (path, value) => (value === undefined ? null : checkSeq(path, value)),
  limit: (path, value) => (value === undefined ? null : checkSeq(path, value)),
});

export const JOURNAL_OPERATIONS = {
  read: {
    ...READS,
    check: (_runId, part = {}) => checkPart("", part),
    absent: { when: (runId) => !isUuid(runId), answer: null },
  },
  lastSet: {
    ...READS,
    check: (_runId, name) => checkText("name", name),
    absent: { when: (runId) => !isUuid(runId), answer: null },
  },
  peek: {
    ...READS,
    each: { checker: () => whole(shape<{ runId: string }>("peek", { runId: checkUuid })), refused: () => null },
    // Tasks that are claimed together read their needs together.
    batch: { ...MOST_AT_ONCE, sizeOf: () => ({ rows: 1, bytes: 0 }), gathers: true },
  },
} satisfies OperationsOf<JournalStore>;
