// Instances of state machines: a row each, the log of their events, and their timers. The store does not know what a state is: it
// keeps what was worked out from a sequence, if nobody was faster.
//
// The life of an instance, told by its operations:
//   machines.create       the row, event 1 with the input, the first timers and effects; also in a caller's transaction
//   machines.load         the row with its last snapshot, and the events after it
//   machines.append       events, timers set and cancelled, effects and snapshot, if the row is still at the expected sequence
//   machines.tell         an event from a caller's transaction or for later: a timer, due now or then
//   machines.claimTimers  a node takes timers that are due, for a lease's time; firing one is an append that names it
//   machines.settleTimers  what could not be fired is tried later, given up, or dropped

import type { Payload } from "../../../kernel/codec/payload.js";
import type { HoldfastError } from "../../../kernel/error.js";
import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { Transaction } from "../transaction.js";

/** Only an active one takes events. */
export const INSTANCE_STATUSES = ["active", "done", "error", "stopped"] as const;
export type InstanceStatus = (typeof INSTANCE_STATUSES)[number];

export interface NewInstanceEvent {
  readonly kind: "start" | "event" | "timer" | "stop";
  /** The event's type, for people. */
  readonly name: string;
  /** Accepted once per instance. */
  readonly key: string | null;
  readonly payload: Payload;
  /** Who sent it. */
  readonly by: string | null;
}

/** `after`: of a state, while it is not left. `raise`: of an action. `sent`: an event from somebody else. */
export type TimerKind = "after" | "raise" | "sent";

export interface NewTimer {
  /** The same timer set again has the same id: it is replaced. */
  readonly id: string;
  /** The sequence at which it was set, for an `after` that is when its state was entered. */
  readonly generation: number;
  readonly kind: TimerKind;
  /** For people: `after 30m in pending`. */
  readonly name: string;
  /** What it stands for. The store does not look into it. */
  readonly payload: Payload;
  readonly delayMs: number;
}

/** An event for another instance, delivered once, when its time has come. */
export interface NewTold {
  /** Told again by an append it is replaced; told again by `tell` it is told once, and is then the key of its event. */
  readonly id: string;
  /** Of `tell` 0; of an append the sender's sequence. */
  readonly generation: number;
  readonly instanceKey: string;
  /** Where it waits if the instance is not there yet; else it waits where the instance does. */
  readonly group: RunGroup;
  readonly name: string;
  readonly payload: Payload;
  readonly delayMs: number;
}

/** What one step of an instance leaves behind. */
export interface Change {
  /** Drawn by the caller: the same change sent again finds itself. */
  readonly token: string;
  /** At least one. */
  readonly events: readonly NewInstanceEvent[];
  readonly status: InstanceStatus;
  /** The state as JSON, for lists. */
  readonly value: string;
  readonly version: string | null;
  /** The state after the events; null: the events are enough this time. */
  readonly snapshot: Payload | null;
  readonly timers: readonly NewTimer[];
  readonly told: readonly NewTold[];
  readonly effects: readonly NewRun[];
}

export interface NewInstance extends Change {
  /** Made of env, machine and id: see instanceKey. */
  readonly key: string;
  readonly id: string;
  /** Where its timers are looked for: env, stack and the machine's name as queue and program, no version. */
  readonly group: RunGroup;
  readonly snapshot: Payload;
  /** Hash of the input: the same id with another input is another instance. */
  readonly inputHash: string;
  /** Paths into the context and events that are not shown. */
  readonly redact: readonly string[];
}

export interface Append extends Change {
  readonly key: string;
  readonly group: RunGroup;
  readonly expectedSeq: number;
  /** Timers that are over with this: those that fire must be there in this generation, or nothing is written. */
  readonly fired: readonly { readonly id: string; readonly generation: number }[];
  /** Not to be set in the same append. */
  readonly cancelled: readonly string[];
}

export type CreateAnswer =
  | { readonly outcome: "created" }
  /** The same id and input was there before. */
  | { readonly outcome: "existing" }
  /** The id is taken, with another input. */
  | { readonly outcome: "conflict" }
  | { readonly outcome: "refused"; readonly error: HoldfastError };

export type AppendAnswer =
  | { readonly outcome: "accepted"; readonly seq: number }
  /** This very append was written before; its reply had been lost. */
  | { readonly outcome: "recorded"; readonly seq: number }
  /** The row was locked by another statement: send it again. */
  | { readonly outcome: "busy" }
  /** Somebody was faster: the sequence as it is. Also when a timer that fires is no longer there. */
  | { readonly outcome: "moved"; readonly seq: number }
  /** One of the events' keys was accepted before. */
  | { readonly outcome: "taken"; readonly keys: readonly string[] }
  | { readonly outcome: "ended"; readonly status: InstanceStatus; readonly seq: number }
  | { readonly outcome: "unknown" }
  | { readonly outcome: "refused"; readonly error: HoldfastError };

export type TellAnswer =
  | { readonly outcome: "accepted" }
  | { readonly outcome: "ended"; readonly status: InstanceStatus }
  | { readonly outcome: "unknown" }
  | { readonly outcome: "refused"; readonly error: HoldfastError };

export interface InstanceRecord {
  readonly key: string;
  readonly id: string;
  readonly group: RunGroup;
  readonly version: string | null;
  readonly status: InstanceStatus;
  readonly seq: number;
  readonly value: string;
  readonly redact: readonly string[];
  /** Why no node can go on with it; null when that is not known. */
  readonly problem: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endedAt: number | null;
}

export interface LoadedInstance extends InstanceRecord {
  readonly snapshot: Payload;
  readonly snapshotSeq: number;
}

export interface InstanceEvent extends NewInstanceEvent {
  readonly seq: number;
  readonly at: number;
}

export interface TimerRecord {
  readonly id: string;
  readonly instanceKey: string;
  readonly generation: number;
  readonly kind: TimerKind;
  readonly name: string;
  readonly payload: Payload;
  readonly dueAt: number;
  /** When it is looked at next: later than due after a failure, or while somebody has taken it. */
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
  /** How long nobody else takes them. */
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
   * How long until the next one is to be looked at; null when there is none, 0 when as many as allowed were taken: there may be more.
   * Of those that somebody has, the first count, as many as allowed: each is free again after its lease.
   */
  readonly nextMs: number | null;
}

/** What becomes of a timer that was not fired. Nothing, when it is of another generation by now, or was taken again. */
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

export interface InstanceFilter {
  readonly env: string;
  /** Omitted: all stacks. */
  readonly stack?: string;
  readonly machine?: string;
  readonly id?: string;
  readonly statuses?: readonly InstanceStatus[];
}

export interface InstancePage {
  readonly instances: readonly InstanceRecord[];
  /** Pass as `before` to get the next page; null at the end. */
  readonly next: string | null;
}

export interface MachineStore {
  /** With a transaction: only INSERTs. Answers stand in the order of the instances. */
  create(instances: readonly NewInstance[], options?: { readonly tx?: Transaction }): Promise<readonly CreateAnswer[]>;

  /** At most one for each instance in a call. Answers stand in the order of the appends. */
  append(appends: readonly Append[]): Promise<readonly AppendAnswer[]>;

  /** With a transaction: only INSERTs. Answers stand in the order of the events. */
  tell(told: readonly NewTold[], options?: { readonly tx?: Transaction }): Promise<readonly TellAnswer[]>;

  /** Null where there is none. With a transaction, as it sees them. */
  load(keys: readonly string[], options?: { readonly tx?: Transaction }): Promise<readonly (LoadedInstance | null)[]>;

  /** Events after a sequence, in order. */
  events(key: string, options: { readonly after: number; readonly limit: number }): Promise<readonly InstanceEvent[]>;

  /** By deadline. */
  timers(key: string): Promise<readonly TimerRecord[]>;

  /** Raises their attempts: what kills its process is counted before it can. */
  claimTimers(claim: TimerClaim): Promise<ClaimedTimers>;

  /** Answers how many were as they had been taken. */
  settleTimers(settlements: readonly TimerSettlement[]): Promise<number>;

  /** Says why no node can go on with an instance, until somebody does. Nothing when it is at another sequence. */
  note(key: string, seq: number, problem: string): Promise<boolean>;

  /** Dead timers of the instance are pending again. Answers how many. */
  retryTimers(key: string): Promise<number>;

  /** Newest first, by pages. */
  list(filter: InstanceFilter, page: { readonly limit: number; readonly before?: string }): Promise<InstancePage>;

  /** Deletes ended instances with their events and timers. Answers how many. */
  prune(options: { readonly env: string; readonly endedBeforeMs: number; readonly limit: number }): Promise<number>;
}
