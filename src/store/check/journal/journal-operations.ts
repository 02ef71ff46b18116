// The operations on journals as values.

import { isUuid } from "../../../kernel/id.js";
import type { JournalStore } from "../../contract/journal/journal.js";
import { MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkPart } from "../filter.js";
import { checkUuid } from "../value.js";

export const JOURNAL_OPERATIONS = {
  read: {
    ...READS,
    check: (_runId, part = {}) => checkPart(part),
    absent: { when: (runId) => !isUuid(runId), answer: null },
  },
  peek: {
    ...READS,
    each: {
      checker:
        () =>
        ({ runId }) =>
          checkUuid("runId", runId),
      refused: () => null,
    },
    // Tasks that are claimed together read their needs together.
    batch: { ...MOST_AT_ONCE, sizeOf: () => ({ rows: 1, bytes: 0 }), gathers: true },
  },
} satisfies OperationsOf<JournalStore>;
