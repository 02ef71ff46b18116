// Events: the runs that they start, and the runs that gather events until a subject is quiet. Events are not stored: the statement
// that accepts an event creates its runs.

import type { HoldfastError } from "../../../kernel/error.js";
import type { Claim } from "../../../kernel/run/claim.js";
import type { DebounceTicket } from "../../../kernel/run/debounce-ticket.js";
import type { AcceptedEvent } from "../../../kernel/run/event-run.js";
import type { NewRun } from "../../../kernel/run/new-run.js";
import type { InsertAnswer } from "../run/starts.js";
import type { Transaction } from "../transaction.js";
import type { EventToMatch, Matched, SubscriptionStore } from "./subscriptions.js";

export type { Declaration, EventToMatch, Matched, Subscription } from "./subscriptions.js";
export { FORGOTTEN_AFTER_MS, isPerStack, isPlain } from "./subscriptions.js";

/** An event that is to start the programs that subscribe to it. */
export type EventToStart = AcceptedEvent & EventToMatch;

export type StartAnswer =
  /** All of its runs exist, created by this event or by the same event before: `runs` is in the order of `matched`. */
  | {
      readonly outcome: "started";
      readonly matched: readonly Matched[];
      readonly runs: readonly { readonly outcome: "inserted" | "existing"; readonly runId: string }[];
    }
  /** One of them needs more than a row (limits, a window, a circuit breaker): no run was created for this event. */
  | { readonly outcome: "left"; readonly matched: readonly Matched[] }
  | { readonly outcome: "refused"; readonly error: HoldfastError };

/** An event for a subscription that is debounced. */
export interface NewDebounced {
  /** The run to create if none gathers for this subject. Its input is the event; it has no key. */
  readonly run: Omit<NewRun, "key" | "parentId">;
  readonly ticket: DebounceTicket;
}

export type DebounceAnswer =
  /** `runId`: the run that gathers for this subject. */
  | { readonly outcome: "gathered"; readonly runId: string }
  | { readonly outcome: "refused"; readonly error: HoldfastError };

/** What one event starts: plain runs, and runs that gather until a subject is quiet. All of them are stored, or none. */
export interface EventRuns {
  readonly runs: readonly NewRun[];
  readonly debounced: readonly NewDebounced[];
}

export type AcceptAnswer =
  /** In the order of the event's own lists. */
  | {
      readonly outcome: "accepted";
      readonly runs: readonly InsertAnswer[];
      readonly debounced: readonly Extract<DebounceAnswer, { outcome: "gathered" }>[];
    }
  | { readonly outcome: "refused"; readonly error: HoldfastError };

/** What happens to a claimed run that gathers. Each outcome releases the claim, at no cost to the run. */
export type SettleDebounced =
  /** The subject was quiet for its window: the run begins again, with the last event as its input. */
  | { readonly outcome: "begins" }
  /** Another event arrived meanwhile: the run is parked until the window ends. */
  | { readonly outcome: "waits" }
  /** Another run gathers for this subject; this one's event was handed to it, and it is skipped. */
  | { readonly outcome: "merged" }
  | { readonly outcome: "lost" };

/**
 * A gathering run that is not visible was created a moment ago by another process; after this time without an event, it was
 * pruned.
 */
export const UNSEEN_MS = 60_000;

export interface EventStore extends SubscriptionStore {
  /**
   * Accepts events and creates their runs, each once per key: those of one event in one statement. May be repeated: the ids of
   * the runs derive from the event's. Answers are in the order of the events.
   */
  start(events: readonly EventToStart[]): Promise<readonly StartAnswer[]>;

  /**
   * Stores the last event of each subject and creates the run that will take it, in one statement; of several events for one
   * subject in a call, the last counts. With a transaction: only INSERTs, so each event creates a run, and those runs find each
   * other when they are claimed. Answers are in the order of the events.
   */
  debounce(
    events: readonly NewDebounced[],
    options?: { readonly tx?: Transaction },
  ): Promise<readonly DebounceAnswer[]>;

  /**
   * Accepts what events start, runs and debounced ones together: in one transaction where there are both. Of several events for one
   * subject, also of calls that come together, the last counts. Answers are in the order of the events.
   */
  accept(events: readonly EventRuns[]): Promise<readonly AcceptAnswer[]>;

  /** The first write of the holder of a gathering run: takes the event and removes the subject in one fenced write. */
  settleDebounced(claim: Claim, expectedSeq: number, ticket: DebounceTicket): Promise<SettleDebounced>;
}
