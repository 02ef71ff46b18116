// The operations on named leases as values.

import { isUuid } from "../../../kernel/id.js";
import { envName, leaseKey, nodeName } from "../../../kernel/name.js";
import type { AcquireRequest, LeaseFence, LeaseStore } from "../../contract/lease/leases.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { checkRound } from "../filter.js";
import { checkDelay, checkText, checkUuid, named, shape, whole } from "../value.js";

const checkAcquire = shape<AcquireRequest>("request", {
  env: named(envName),
  key: named(leaseKey),
  owner: named(nodeName),
  token: checkUuid,
  leaseMs: checkDelay,
});
const checkName = shape<LeaseFence>("fence", { env: checkText, key: checkText });
const mayBeFence = (fence: LeaseFence) =>
  !checkName("fence", fence) && Number.isSafeInteger(fence.epoch) && isUuid(fence.token);

/** A fence that no lease can have is answered like one that was lost. */
const lost = { when: (fence: LeaseFence) => !mayBeFence(fence), answer: false };

export const LEASE_OPERATIONS = {
  acquire: { ...CHANGES, changes: "a lease: held", check: whole(checkAcquire) },
  renew: {
    ...CHANGES,
    changes: "a lease: longer",
    repeated: false,
    check: (_fence, leaseMs) => checkDelay("leaseMs", leaseMs),
    absent: lost,
  },
  complete: { ...CHANGES, changes: "a lease: done", absent: lost },
  fail: {
    ...CHANGES,
    changes: "a lease: failed",
    check: (_fence, detail) => checkText("detail", detail),
    absent: lost,
  },
  release: { ...CHANGES, changes: "a lease: free", absent: lost },
  owns: { ...READS, absent: lost },
  reclaimExpired: { ...CHANGES, changes: "leases that have expired: free", check: whole(checkRound) },
  get: { ...READS, absent: { when: (env, key) => checkName("lease", { env, key }) !== null, answer: null } },
} satisfies OperationsOf<LeaseStore>;
