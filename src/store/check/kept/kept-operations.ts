// The operations on kept values as values.

import { isUuid } from "../../../kernel/id.js";
import { dedupeKey, envName } from "../../../kernel/name.js";
import type { Claim } from "../../../kernel/run/claim.js";
import type { KeepOptions, KeepValue, KeptQuery, KeptStore } from "../../contract/kept/kept.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import * as v from "../value.js";

const checkValues = v.listOf(
  "values",
  v.shape<KeepValue>("value", {
    env: v.named(envName),
    space: v.named(dedupeKey),
    key: v.named(dedupeKey),
    value: v.nullable(v.checkPayload),
    ttlMs: v.nullable(v.checkDelay),
  }),
);
const checkQuery = v.shape<KeptQuery>("query", {
  env: v.checkText,
  space: v.checkText,
  after: v.optional(v.checkText),
  limit: v.checkLimit,
});
const mayBeClaim = ({ runId, epoch, token }: Claim) => isUuid(runId) && Number.isSafeInteger(epoch) && isUuid(token);

export const KEPT_OPERATIONS = {
  get: {
    ...READS,
    absent: { when: (...names) => names.some((name) => v.checkText("name", name) !== null), answer: null },
  },
  list: { ...READS, check: v.whole(checkQuery) },
  put: {
    ...CHANGES,
    changes: "kept values: written or removed",
    tx: true,
    check: (values) => checkValues("values", values),
    // A claim that no run can have is answered like one that was lost.
    absent: {
      when: (_values, { under }: KeepOptions = {}) => under !== undefined && !mayBeClaim(under),
      answer: { outcome: "lost" },
    },
  },
} satisfies OperationsOf<KeptStore>;
