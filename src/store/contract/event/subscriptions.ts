// Subscriptions: which programs an event starts. Data, because the process that emits an event does not have their code.

import type { BreakerRule } from "../../../kernel/breaker-rule.js";
import type { Filter } from "../../../kernel/contains.js";
import type { LimitRule } from "../../../kernel/limit-rule.js";
import type { KeyLifetime } from "../../../kernel/run/new-run.js";
import type { Transaction } from "../transaction.js";

/** A program's request to be started by an event: data, because the caller that emits has no code. */
export interface Subscription {
  /** Derived from stack, program, event and filter: the same request has the same id wherever it is declared. */
  readonly id: string;
  /** The scope of its keys and subjects: the same in all stacks, or its id when it starts one run in each stack. */
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
  /** A path into the payload; only for a debounced subscription. */
  readonly subject: readonly string[] | null;
  readonly debounceMs: number | null;
  /** How long a repeated event starts nothing. */
  readonly lifetime: KeyLifetime;
  readonly crashLimit: number;
  /** The circuit breaker of the program: while it is open, events start nothing. */
  readonly breaker: BreakerRule | null;
}

export interface Declaration {
  /** The node that declares: while it lives, its subscriptions stay. */
  readonly incarnation: string;
  readonly env: string;
  /** All of this node's. */
  readonly subscriptions: readonly Subscription[];
  /** The ids of those that it had declared and no longer requests. */
  readonly withdrawn?: readonly string[];
  /** The node stops: it no longer counts as one that has its programs, also where a failover has lost that it is stopping. */
  readonly leaving?: boolean;
  /** True at a node's start: its declaration overrides the stored one. Afterwards a node only restores missing subscriptions. */
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

/** Whether it starts one run in each stack; otherwise one for the env. */
export function isPerStack({ id, scope }: Pick<Subscription, "id" | "scope">): boolean {
  return id === scope;
}

/** Whether its run can be created from the event alone. */
export function isPlain({ debounceMs, breaker, limits }: Matched): boolean {
  return debounceMs === null && breaker === null && limits.length === 0;
}

/** A node that gave no sign of life for this time no longer counts as declaring. One that hangs for a moment does. */
export const FORGOTTEN_AFTER_MS = 60_000;

export interface SubscriptionStore {
  /**
   * Adds and changes subscriptions, and removes those that no node declares although a live node has their program. Without
   * such a node they stay: events are accepted for the next node that starts. Returns how many were removed.
   */
  subscribe(declaration: Declaration): Promise<number>;

  /** By env and id. */
  subscriptions(env: string): Promise<readonly Subscription[]>;

  /** The subscriptions that each of these events matches, by id. Reads only. */
  match(
    events: readonly EventToMatch[],
    options?: { readonly tx?: Transaction },
  ): Promise<readonly (readonly Matched[])[]>;
}
