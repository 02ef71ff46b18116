// Timers of instances: claimed when they are due, and settled when they could not be fired.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { TimerKind } from "./changes.js";
import type { LoadedInstance } from "./instances.js";

/** A timer of an instance as it is stored. */
export interface TimerRecord {
  /** Its id. */
  readonly id: string;
  /** The instance it belongs to. */
  readonly instanceKey: string;
  /** The sequence at which it was set. */
  readonly generation: number;
  /** What it is for. */
  readonly kind: TimerKind;
  /** Its name for people. */
  readonly name: string;
  /** What it delivers. */
  readonly payload: Payload;
  /** When it is due; ms since 1970 on the database's clock. */
  readonly dueAt: number;
  /** When it is tried next: later than due after a failure, or while a node has claimed it. */
  readonly tryAt: number;
  /** How often it was tried. */
  readonly attempts: number;
  /** Whether it is tried, or was given up. */
  readonly state: "pending" | "dead";
  /** Why it failed last; null: it has not. */
  readonly problem: string | null;
}

export interface TimerClaim {
  /** The machines of this node. */
  readonly groups: readonly RunGroup[];
  /** Of each group. */
  readonly limit: number;
  /** How long no other node can claim them. */
  readonly leaseMs: number;
  /** Claimed this often without being settled, a timer is dead. */
  readonly mostAttempts: number;
  /** The incarnation that claims them. */
  readonly owner?: string;
  /** Nodes that are gone: what they have claimed is free. */
  readonly gone?: readonly string[];
}

export interface ClaimedTimers {
  /** The store's clock. */
  readonly now: number;
  /** In order of their deadlines. Each claim counts as an attempt; includes those that are dead because of it (`dead`). */
  readonly timers: readonly TimerRecord[];
  /** The instances that they belong to, as of the same moment. */
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
  /** As it was claimed. */
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

  /** Raises their attempts: a timer that kills its process is counted before it can. */
  claimTimers(claim: TimerClaim): Promise<ClaimedTimers>;

  /** Returns how many were still as they had been claimed. */
  settleTimers(settlements: readonly TimerSettlement[]): Promise<number>;

  /** Makes dead timers of the instance pending again. Returns how many. */
  retryTimers(key: string): Promise<number>;
}
