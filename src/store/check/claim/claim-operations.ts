// The operations that claim, renew, commit and reclaim runs, as values.

import { isUuid } from "../../../kernel/id.js";
import { versionName } from "../../../kernel/name.js";
import { bytesOf } from "../../../kernel/run/effect.js";
import type { RunClaims } from "../../contract/claim/claiming.js";
import type { RunCommits } from "../../contract/claim/commits.js";
import type { RunRecovery } from "../../contract/claim/recovery.js";
import { CHANGES, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkDelay, checkLimit, checkName, checkText, checkUuid, optional } from "../value.js";
import { checkClaim, checkedTransact, commitChecker } from "./commit.js";
import { checkDecisions, checkOrphanFilter } from "./recovery.js";

const claims = {
  claim: {
    ...CHANGES,
    changes: "runs: claimed, for the duration of a lease",
    check: ({ owner, token, leaseMs, limit, build }) =>
      checkUuid("owner", owner) ??
      checkUuid("token", token) ??
      checkDelay("leaseMs", leaseMs) ??
      checkLimit("limit", limit) ??
      optional((path, value) => checkName(versionName, path, value))("build", build),
  },
  renew: {
    ...CHANGES,
    changes: "leases: longer, and the node's last sign of life",
    repeated: false,
    skipsLocked: true,
    check: (_claims, leaseMs) => checkDelay("leaseMs", leaseMs),
    // What is no claim at all is held by no node.
    each: { checker: () => (claim) => checkClaim("claim", claim), refused: () => ({ outcome: "lost" }) },
  },
  wakeParked: {
    ...CHANGES,
    changes: "parked runs that are due or have messages: waiting",
    check: ({ limit }) => checkLimit("limit", limit),
  },
  nextDue: READS,
  claims: {
    ...READS,
    check: (_runId, { limit }) => checkLimit("limit", limit),
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

const recovery = {
  reclaimExpired: {
    ...CHANGES,
    changes: "runs whose lease has expired: reclaimed",
    check: ({ env, limit }) => checkText("env", env) ?? checkLimit("limit", limit),
  },
  orphans: { ...READS, check: checkOrphanFilter },
  recover: {
    ...CHANGES,
    changes: "orphans that were decided on: reclaimed",
    check: (decisions, { staleMs }) => checkDecisions(decisions) ?? checkDelay("staleMs", staleMs),
  },
} satisfies OperationsOf<RunRecovery>;

export const CLAIM_OPERATIONS = { ...claims, ...commits, ...recovery };
