// The operations that claim, renew, commit and reclaim runs, as values.

import { isUuid } from "../../../kernel/id.js";
import { envName, stackName, versionName } from "../../../kernel/name.js";
import { bytesOf } from "../../../kernel/run/effect.js";
import { RECOVERIES } from "../../../kernel/run/recovery.js";
import type { ClaimRequest, RunClaims } from "../../contract/claim/claiming.js";
import type { RunCommits } from "../../contract/claim/commits.js";
import type { OrphanFilter, RecoveryDecision, RunRecovery } from "../../contract/claim/recovery.js";
import { CHANGES, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkRound } from "../filter.js";
import * as v from "../value.js";
import { checkClaim, checkedTransact, commitChecker } from "./commit.js";

const checkRequest = v.shape<ClaimRequest>("request", {
  owner: v.checkUuid,
  token: v.checkUuid,
  leaseMs: v.checkDelay,
  limit: v.checkLimit,
  build: v.optional(v.named(versionName)),
  recentMs: v.optional(v.checkDelay),
});

const claims = {
  claim: { ...CHANGES, changes: "runs: claimed, for the duration of a lease", check: v.whole(checkRequest) },
  renew: {
    ...CHANGES,
    changes: "leases: longer, and the node's last sign of life",
    repeated: false,
    skipsLocked: true,
    check: (_claims, leaseMs) => v.checkDelay("leaseMs", leaseMs),
    // What is no claim at all is held by no node.
    each: { checker: () => (claim) => checkClaim("claim", claim), refused: () => ({ outcome: "lost" }) },
  },
  wakeParked: {
    ...CHANGES,
    changes: "parked runs that are due or have messages: waiting",
    check: ({ limit }) => v.checkLimit("limit", limit),
  },
  nextDue: { ...READS, check: (_groupIds, options) => v.optional(v.checkDelay)("recentMs", options?.recentMs) },
  claims: {
    ...READS,
    check: (_runId, { limit }) => v.checkLimit("limit", limit),
    absent: { when: (runId) => !isUuid(runId), answer: [] },
  },
} satisfies OperationsOf<RunClaims>;

const commits = {
  commit: {
    ...CHANGES,
    changes: "all that a holder writes, under its fence",
    skipsLocked: true,
    each: { checker: commitChecker, refused: (_, error) => ({ outcome: "refused", error }) },
    batch: {
      ...MOST_AT_ONCE,
      sizeOf: (commit) => ({ rows: commit?.effects?.length ?? 1, bytes: bytesOf(commit?.effects) }),
    },
  },
  transact: {
    ...CHANGES,
    changes: "the caller's rows, and the commit of its step, in one transaction",
    callsBack: true,
    around: checkedTransact,
  },
} satisfies OperationsOf<RunCommits>;

const checkOrphans = v.shape<OrphanFilter>("filter", {
  env: v.optional(v.named(envName)),
  stack: v.optional(v.named(stackName)),
  staleMs: v.checkDelay,
  limit: v.checkLimit,
  after: v.optional(v.checkUuid),
});

const checkDecision = v.shape<RecoveryDecision>("decision", {
  runId: v.checkUuid,
  epoch: v.checkSeq,
  policy: v.among(RECOVERIES),
});

const recovery = {
  reclaimExpired: { ...CHANGES, changes: "runs whose lease has expired: reclaimed", check: v.whole(checkRound) },
  orphans: { ...READS, check: v.whole(checkOrphans) },
  recover: {
    ...CHANGES,
    changes: "orphans that were decided on: reclaimed",
    check: (decisions, { staleMs }) => checkDecisions(decisions) ?? v.checkDelay("staleMs", staleMs),
  },
} satisfies OperationsOf<RunRecovery>;

export const CLAIM_OPERATIONS = { ...claims, ...commits, ...recovery };

function checkDecisions(decisions: readonly RecoveryDecision[]): v.Problem {
  const seen = new Set<string>();
  const check = v.listOf("decisions", (path, one) => {
    return checkDecision(path, one) ?? v.checkOnce(path, (one as RecoveryDecision).runId, seen);
  });
  return check("decisions", decisions);
}
