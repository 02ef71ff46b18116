// The operations on named leases as values.

import type { LeaseFence, LeaseStore } from "../../contract/lease/leases.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { checkDelay, checkLimit, checkText } from "../value.js";
import { checkAcquire, mayBeFence, mayBeLease } from "./lease.js";

/** A fence that no lease can have is answered like one that was lost. */
const lost = { when: (fence: LeaseFence) => !mayBeFence(fence), answer: false };

export const LEASE_OPERATIONS = {
  acquire: { ...CHANGES, changes: "a lease: held", check: checkAcquire },
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
  reclaimExpired: {
    ...CHANGES,
    changes: "leases that have expired: free",
    check: ({ env, limit }) => checkText("env", env) ?? checkLimit("limit", limit),
  },
  get: { ...READS, absent: { when: (env, key) => !mayBeLease(env, key), answer: null } },
} satisfies OperationsOf<LeaseStore>;
