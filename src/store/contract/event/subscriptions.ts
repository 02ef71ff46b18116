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
  /** The ids of those that it had declared and no longer requests. */
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

/** Whether what it starts is there once in each stack; otherwise once for the env. */
export function isPerStack({ id, scope }: Pick<Subscription, "id" | "scope">): boolean {
  return id === scope;
}

/** Whether a run of it can be made by knowing no more than the event. */
export function isPlain({ debounceMs, breaker, limits }: Matched): boolean {
  return debounceMs === null && breaker === null && limits.length === 0;
}

/** A node that gave no sign of life for this time no longer counts as declaring. One that hangs for a moment does. */
export const FORGOTTEN_AFTER_MS = 60_000;

export interface SubscriptionStore {
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
}
