// Exports of `holdfast/lease`: leases, a gate and leader election on their own, adapters for work claims, and their errors.

export { LeadershipEnded, LeaseLost, LeaseMisused, LeaseUnsupported, type ResignReason } from "./error.js";
export { createGate, type Gate, type GateOptions, type GateScope, type Passed } from "./gate.js";
export type { Fence, HeldLease, HoldScope } from "./held-lease.js";
export { createLeader, type Leader, type LeaderOptions } from "./leader.js";
export type { Term } from "./leader-term.js";
export type { LeaderTiming } from "./leader-timing.js";
export type { LeaseEvents } from "./lease-events.js";
export { type AcquireOptions, type BusyLease, createLeases, type Leases, type LeasesOptions } from "./leases.js";
export { storeClaims } from "./store-claims.js";
export type { ClaimAnswer, Grant, Granted, LeaseInfo, Refused, WorkClaims } from "./work-claims.js";
