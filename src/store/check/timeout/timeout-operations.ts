// The operations on timeouts as values.

import type { TimeoutTable } from "../../contract/timeout/timeouts.js";
import { type Batch, CHANGES, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkLimit, firstProblem } from "../value.js";
import {
  checkNewTimeout,
  checkTimeoutClaim,
  checkTimeoutFence,
  checkTimeoutKey,
  checkTimeoutRelease,
  checkTimeoutScope,
} from "./timeout.js";

/** A sweeper claims timeouts one by one, many at a time: calls that arrive together are sent together. */
const batch: Batch<unknown> = { ...MOST_AT_ONCE, maxRows: 500, sizeOf: () => ({ rows: 1, bytes: 100 }), gathers: true };
/** A fence that no claim can have is answered like one that was lost. */
const each = { checker: () => checkTimeoutFence, refused: () => false };

export const TIMEOUT_OPERATIONS = {
  schedule: { ...CHANGES, changes: "the timeout of an instance", tx: true, check: checkNewTimeout },
  cancel: { ...CHANGES, changes: "the timeout of an instance: removed", tx: true, check: checkTimeoutKey },
  get: { ...READS, check: checkTimeoutKey },
  expired: { ...READS, check: (of, limit) => checkTimeoutScope(of) ?? checkLimit("limit", limit) },
  claim: {
    ...CHANGES,
    changes: "due timeouts: claimed, an attempt counted",
    check: (requests) => firstProblem(requests, (request, i) => checkTimeoutClaim(`requests[${i}]`, request)),
    batch,
  },
  complete: { ...CHANGES, changes: "claimed timeouts: removed", tx: true, each, batch },
  release: {
    ...CHANGES,
    changes: "claimed timeouts: due again, or given up",
    check: (releases) => firstProblem(releases, (one, i) => checkTimeoutRelease(`releases[${i}]`, one)),
    each,
    batch,
  },
  dead: { ...READS, check: (of, { limit }) => checkTimeoutScope(of) ?? checkLimit("limit", limit) },
  retry: { ...CHANGES, changes: "a timeout that was given up: due now", check: checkTimeoutKey },
  onScheduled: { ...READS, callsBack: true },
} satisfies OperationsOf<TimeoutTable>;
