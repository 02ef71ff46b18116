// The operations on timeouts as values. A fence that no claim can have is answered like one that was lost.

import { dedupeKey, envName, keyScope, nodeName, waitName } from "../../../kernel/name.js";
import type {
  NewTimeout,
  TimeoutClaimRequest,
  TimeoutFence,
  TimeoutKey,
  TimeoutRelease,
  TimeoutTable,
} from "../../contract/timeout/timeouts.js";
import { type Batch, CHANGES, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import * as v from "../value.js";

/** A sweeper claims timeouts one by one, many at a time: calls that arrive together are sent together. */
const batch: Batch<unknown> = { ...MOST_AT_ONCE, maxRows: 500, sizeOf: () => ({ rows: 1, bytes: 100 }), gathers: true };

const SCOPE = { env: v.named(envName), scope: v.named(keyScope) };
const KEY = { ...SCOPE, instance: v.named(dedupeKey) };
const checkScope = v.whole(v.shape<TimeoutKey>("scope", SCOPE));
const checkKey = v.whole(v.shape<TimeoutKey>("timeout", KEY));
const checkNew = v.whole(
  v.shape<NewTimeout>("timeout", {
    ...KEY,
    generation: v.checkUuid,
    state: v.named(waitName),
    sequence: v.checkSeq,
    deadline: checkDeadline,
  }),
);
const checkRequests = v.listOf(
  "requests",
  v.shape<TimeoutClaimRequest>("request", {
    ...KEY,
    generation: v.checkUuid,
    node: v.named(nodeName),
    token: v.checkUuid,
    claimMs: checkClaimMs,
  }),
);
const checkReleases = v.listOf(
  "releases",
  v.shape<TimeoutRelease>("release", {
    retryInMs: (path, ms) => (ms === "never" ? null : v.optional(v.checkDelay)(path, ms)),
    problem: v.optional(v.checkText),
  }),
);
const checkFence = v.whole(v.shape<TimeoutFence>("fence", { generation: v.checkUuid, token: v.checkUuid }));
const each = { checker: () => checkFence, refused: () => false };

export const TIMEOUT_OPERATIONS = {
  schedule: { ...CHANGES, changes: "the timeout of an instance", tx: true, check: checkNew },
  cancel: { ...CHANGES, changes: "the timeout of an instance: removed", tx: true, check: checkKey },
  get: { ...READS, check: checkKey },
  expired: { ...READS, check: (of, limit) => checkScope(of) ?? v.checkLimit("limit", limit) },
  claim: {
    ...CHANGES,
    changes: "due timeouts: claimed, an attempt counted",
    check: (requests) => checkRequests("requests", requests),
    batch,
  },
  complete: { ...CHANGES, changes: "claimed timeouts: removed", tx: true, each, batch },
  release: {
    ...CHANGES,
    changes: "claimed timeouts: due again, or given up",
    check: (releases) => checkReleases("releases", releases),
    each,
    batch,
  },
  dead: { ...READS, check: (of, { limit }) => checkScope(of) ?? v.checkLimit("limit", limit) },
  retry: { ...CHANGES, changes: "a timeout that was given up: due now", check: checkKey },
  onScheduled: { ...READS, callsBack: true },
} satisfies OperationsOf<TimeoutTable>;

function checkDeadline(path: string, deadline: unknown): v.Problem {
  const problem = v.checkObject(path, deadline);
  if (problem) return problem;
  const { at, inMs } = deadline as { at?: unknown; inMs?: unknown };
  return "at" in (deadline as object) ? v.checkInstant("at", at) : v.checkDelay("in", inMs);
}

/** A claim of 0 ms would expire before the reply arrives. */
function checkClaimMs(path: string, ms: unknown): v.Problem {
  return (ms as number) < 1 ? v.checkInteger(path, ms, 1) : v.checkDelay(path, ms);
}
