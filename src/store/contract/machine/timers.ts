// Timers of instances: claimed when they are due, and settled when they could not be fired.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { TimerKind } from "./changes.js";
import type { LoadedInstance } from "./instances.js";

export interface TimerRecord {
  readonly id: string;
  readonly instanceKey: string;
  readonly generation: number;
  readonly kind: TimerKind;
  readonly name: string;
  readonly payload: Payload;
  readonly dueAt: number;
  /** When it is tried next: later than due after a failure, or while a node has claimed it. */
  readonly tryAt: number;
  readonly attempts: number;
  readonly state: "pending" | "dead";
  readonly problem: string | null;
}

export interface TimerClaim {
  /** The machines of this node. */
  readonly groups: readonly RunGroup[];
  /** Of each group. */
  readonly limit: number;
  /** How long no other node can claim them. */
  readonly leaseMs: number;
  /** Taken so often without an end, a timer is dead. */
  readonly mostAttempts: number;
}

export interface ClaimedTimers {
  /** The store's clock. */
  readonly now: number;
  /** In order of their deadlines. Counted as attempts, those that died of it included (`dead`). */
  readonly timers: readonly TimerRecord[];
  /** Those that they are for, as of the same moment. */
  readonly instances: readonly LoadedInstance[];
  /**
   * How long until the next timer is to be tried; null when there is none, 0 when as many as allowed were claimed: there may be more.
   * Of the timers that a node has claimed, the first count, as many as allowed: each is free again after its lease.
   */
  readonly nextMs: number | null;
}

/** What happens to a timer that was not fired. Nothing, when it is of another generation by now, or was claimed again. */
export interface TimerSettlement {
  readonly id: string;
  readonly generation: number;
  /** As it was taken. */
  readonly attempts: number;
  /** `retry`: after a while. `keep`: after a while, and no attempt counts. `untried`: after a while, and this attempt does not count. */
  readonly as: "retry" | "keep" | "untried" | "dead" | "drop";
  readonly delayMs: number;
  /** Of `untried` null: as before. */
  readonly problem: string | null;
}

export interface InstanceTimers {
  /** By deadline. */
  timers(key: string): Promise<readonly TimerRecord[]>;

  /** Raises their attempts: what kills its process is counted before it can. */
  claimTimers(claim: TimerClaim): Promise<ClaimedTimers>;

  /** Answers how many were as they had been taken. */
  settleTimers(settlements: readonly TimerSettlement[]): Promise<number>;

  /** Dead timers of the instance are pending again. Answers how many. */
  retryTimers(key: string): Promise<number>;
}
