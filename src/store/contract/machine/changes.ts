// Changes of an instance: the events, timers, events for other instances and effects that one step writes.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { HoldfastError } from "../../../kernel/error.js";
import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { Transaction } from "../transaction.js";

/** Only an active instance accepts events. */
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

/** `after`: of a state, until the instance leaves it. `raise`: of an action. `sent`: an event from another instance or a caller. */
export type TimerKind = "after" | "raise" | "sent";

export interface NewTimer {
  /** The same timer set again has the same id: it is replaced. */
  readonly id: string;
  /** The sequence at which it was set; for an `after`, the sequence at which its state was entered. */
  readonly generation: number;
  readonly kind: TimerKind;
  /** For people: `after 30m in pending`. */
  readonly name: string;
  /** The event that it delivers. The store does not look into it. */
  readonly payload: Payload;
  readonly delayMs: number;
}

/** An event for another instance, delivered once, when its time has come. */
export interface NewTold {
  /** The id of one event: an append with the same id replaces it; `tell` with the same id delivers it once, and the id is then the key of its event. */
  readonly id: string;
  /** 0 for `tell`; the sender's sequence for an append. */
  readonly generation: number;
  readonly instanceKey: string;
  /** The group it waits in while the instance does not exist; otherwise it waits in the instance's group. */
  readonly group: RunGroup;
  readonly name: string;
  readonly payload: Payload;
  readonly delayMs: number;
}

/** What one step of an instance writes. */
export interface Change {
  /** Drawn by the caller: the same change sent again is recognised. */
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
  /** Derived from env, machine and id: see instanceKey. */
  readonly key: string;
  readonly id: string;
  /** The group of its timers: env, stack and the machine's name as queue and program, no version. */
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
  /** Timers that end with this change: those that fire must exist in this generation, or nothing is written. */
  readonly fired: readonly { readonly id: string; readonly generation: number }[];
  /** Not to be set in the same append. */
  readonly cancelled: readonly string[];
}

export type CreateAnswer =
  | { readonly outcome: "created" }
  /** An instance with the same id and input existed before. */
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
  /** Another append was first: the current sequence. Also when a timer that fires no longer exists. */
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

export interface InstanceChanges {
  /** With a transaction: only INSERTs. Answers are in the order of the instances. */
  create(instances: readonly NewInstance[], options?: { readonly tx?: Transaction }): Promise<readonly CreateAnswer[]>;

  /** At most one for each instance in a call. Answers are in the order of the appends. */
  append(appends: readonly Append[]): Promise<readonly AppendAnswer[]>;

  /** With a transaction: only INSERTs. Answers are in the order of the events. */
  tell(told: readonly NewTold[], options?: { readonly tx?: Transaction }): Promise<readonly TellAnswer[]>;
}
