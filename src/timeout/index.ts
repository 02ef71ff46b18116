// Exports of `holdfast/timeout`: durable timeouts of your own instances, the sweeper that fires them, and their errors.

export { TimeoutClaimOver, TimeoutUnanswered } from "./error.js";
export { type TimeoutStoreOptions, timeoutStore } from "./store-timeouts.js";
export { TimeoutSweeper } from "./sweeper.js";
export type { SweeperEvents, SweeperMetrics, TimeoutFacts } from "./sweeper-events.js";
export type { Fire, FireContext, FireOutcome, LeaderElection, SweeperOptions } from "./sweeper-options.js";
export type {
  ClaimedTimeout,
  ClaimResult,
  Expired,
  ScheduledTimeout,
  TimeoutStore,
  TimeoutToSchedule,
} from "./timeout-store.js";
