// Events: who is to be started by them, and what gathers until a subject is quiet. Events themselves are not kept: each becomes
// its runs in the statement that accepts it.

import type { BreakerRule } from "../../../kernel/breaker-rule.js";
import type { Filter } from "../../../kernel/contains.js";
import type { HoldfastError } from "../../../kernel/error.js";
import type { LimitRule } from "../../../kernel/limit-rule.js";
import type { Claim } from "../../../kernel/run/claim.js";
import type { DebounceTicket } from "../../../kernel/run/debounce-ticket.js";
import type { AcceptedEvent } from "../../../kernel/run/event-run.js";
import type { KeyLifetime, NewRun } from "../../../kernel/run/new-run.js";
import type { InsertAnswer } from "../run/runs.js";
import type { Transaction } from "../transaction.js";

/** A program's wish to be started by an event: data, because whoever emits has no code. */
export interface Subscription {
  /** Made of stack, program, event and filter: the same wish has the same id wherever it is declared. */
  readonly id: string;
  /** Of its keys and of its subjects: the same in all stacks, or its id, when it wants one run in each of them. */
  readonly scope: string;
  readonly env: string;
  /** Only events that are emitted in this stack; null: in none. */
  readonly stack: string | null;
  readonly event: string;
  readonly program: string;
  readonly queue: string;
  readonly version: string | null;
  /** Alternatives; empty: every event. */
  readonly where: readonly Filter[];
  /** A path into the payload; only of one that is debounced. */
  readonly subject: readonly string[] | null;
  readonly debounceMs: number | null;
  /** How long the same event starts nothing again. */
  readonly lifetime: KeyLifetime;
  readonly crashLimit: number;
  /** Of the program: while it is open, events start nothing. */
  readonly breaker: BreakerRule | null;
}

export interface Declaration {
  /** The node that declares: while it lives, its subscriptions stay. */
  readonly incarnation: string;
  readonly env: string;
  /** All of this node's. */
  readonly subscriptions: readonly Subscription[];
  /** The ids of those that it had declared and does not wish any more. */
  readonly withdrawn?: readonly string[];
  /** At a node's start what it declares counts; afterwards it only puts back what is missing. */
  readonly starting: boolean;
}

export interface EventToMatch {
  readonly env: string;
  readonly stack: string | null;
  readonly event: string;
  /** The part of the payload that can be filtered on, as JSON. */
  readonly plain: string;
}

/** With the limits that were declared for its runs. */
export interface Matched extends Subscription {
  readonly limits: readonly LimitRule[];
}

/** An event that is to start whoever it is for. */
export type EventToStart = AcceptedEvent & EventToMatch;

export type StartAnswer =
  /** All of its runs are there, made by this event or by the same one before: `runs` stands in the order of `matched`. */
  | {
      readonly outcome: "started";
      readonly matched: readonly Matched[];
      readonly runs: readonly { readonly outcome: "inserted" | "existing"; readonly runId: string }[];
    }
  /** One of them needs more than a row (limits, a window, a circuit breaker): nothing was made of this event. */
  | { readonly outcome: "left"; readonly matched: readonly Matched[] }
  | { readonly outcome: "refused"; readonly error: HoldfastError };

/** Whether what it starts is there once in each stack; otherwise once for the env. */
export function isPerStack({ id, scope }: Pick<Subscription, "id" | "scope">): boolean {
  return id === scope;
}

/** Whether a run of it can be made by knowing no more than the event. */
export function isPlain({ debounceMs, breaker, limits }: Matched): boolean {
  return debounceMs === null && breaker === null && limits.length === 0;
}

/** An event for a subscription that is debounced. */
export interface NewDebounced {
  /** The run to be made if none gathers for this subject. Its input is the event; it has no key. */
  readonly run: Omit<NewRun, "key" | "parentId">;
  readonly ticket: DebounceTicket;
  /** What else the same event starts: there together with it, or not at all. Not in a caller's transaction. */
  readonly beside?: readonly NewRun[];
}

export type DebounceAnswer =
  /** `runId`: who gathers for this subject. `beside`: what became of each of those, when there were any. */
  | { readonly outcome: "gathered"; readonly runId: string; readonly beside?: readonly InsertAnswer[] }
  | { readonly outcome: "refused"; readonly error: HoldfastError };

/** What becomes of a claimed run that gathers. Each gives the claim back, at no cost. */
export type SettleDebounced =
  /** The subject was quiet for its window: the run begins anew, with the last event as its input. */
  | { readonly outcome: "begins" }
  /** Another event came meanwhile: parked until the window is over. */
  | { readonly outcome: "waits" }
  /** Another run gathers for this subject; this one's event was handed to it, and it is skipped. */
  | { readonly outcome: "merged" }
  | { readonly outcome: "lost" };

/**
 * A run that gathers and is not to be seen was made a moment ago by somebody else; after so long without an event, it was
 * pruned.
 */
export const UNSEEN_MS = 60_000;

/** A node that was not heard of for so long no longer counts among those that declare. One that hangs for a moment does. */
export const FORGOTTEN_AFTER_MS = 60_000;

export interface EventStore {
  /**
   * Adds and changes subscriptions, and removes those that no node declares although a live one is there that has their
   * program. With no live node they stay: events are accepted for when one comes. Answers how many were removed.
   */
  subscribe(declaration: Declaration): Promise<number>;

  /** By env and id. */
  subscriptions(env: string): Promise<readonly Subscription[]>;

  /** Who is to be started by each of these events, by id. Reads only. */
  match(
    events: readonly EventToMatch[],
    options?: { readonly tx?: Transaction },
  ): Promise<readonly (readonly Matched[])[]>;

  /**
   * Accepts events and makes their runs, each once per key: those of one event in one statement. May be repeated: the ids of
   * the runs are made of the event's. Answers stand in the order of the events.
   */
  start(events: readonly EventToStart[]): Promise<readonly StartAnswer[]>;

  /**
   * Keeps the last event of each subject and makes the run that will take it, in one statement; of several for one subject
   * in a call, the last counts. With a transaction: only INSERTs, so each makes a run, and those find each other when they
   * are claimed. Answers stand in the order of the events.
   */
  debounce(
    events: readonly NewDebounced[],
    options?: { readonly tx?: Transaction },
  ): Promise<readonly DebounceAnswer[]>;

  /** For the holder of a run that gathers, as its first write: takes the event and forgets the subject in one fenced write. */
  settleDebounced(claim: Claim, expectedSeq: number, ticket: DebounceTicket): Promise<SettleDebounced>;
}
