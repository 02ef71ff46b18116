// The budget of an episode: turns, tokens and working time. Counted from its journal, so a crash does not reset it.

import { type Duration, toMs } from "../kernel/duration.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";

/** Options for users; null: no limit. */
export interface BudgetOptions {
  /** Moves of a strategy, or what a function reports with `spend`. @default 12 */
  readonly turns?: number | null;
  /** Counted by you: `ctx.spend({ tokens })`. @default 25,000 */
  readonly tokens?: number | null;
  /** Working time; waiting for a person, a signal or a time does not count. @default 2 minutes */
  readonly timeout?: Duration | null;
}

export interface Budget {
  readonly turns: number | null;
  readonly tokens: number | null;
  readonly timeoutMs: number | null;
}

/** What an episode reports with `ctx.spend`. */
export interface Usage {
  /** Turns to add. @default 0 */
  readonly turns?: number;
  /** Tokens to add. @default 0 */
  readonly tokens?: number;
}

/** What an episode has used of its budget. */
export interface Spent {
  /** Turns so far. */
  readonly turns: number;
  /** Tokens so far. */
  readonly tokens: number;
}

export type BudgetLimit = "turns" | "tokens" | "timeout";

const DEFAULTS: Budget = { turns: 12, tokens: 25_000, timeoutMs: 120_000 };

/** The episode has used up its budget. */
export class BudgetExhausted extends HoldfastError {
  readonly code = "BUDGET_EXHAUSTED";
  /** The part of the budget that is used up. */
  readonly limit: BudgetLimit;
  /** What the episode had used by then. */
  readonly spent: Spent;

  constructor(limit: BudgetLimit, most: number, spent: Spent) {
    const what = limit === "timeout" ? `${most} ms of working time` : `${most} ${limit}`;
    super(
      `The episode has used up its budget of ${what}. Raise budget.${limit}, set it to null for no limit, ` +
        "or return a result with onBudgetExhausted.",
    );
    this.limit = limit;
    this.spent = spent;
  }
}

export function budgetOf(options: BudgetOptions = {}, path = "budget"): Budget {
  const { turns = DEFAULTS.turns, tokens = DEFAULTS.tokens, timeout } = options;
  for (const [name, value] of Object.entries({ turns, tokens })) {
    if (value === null || (Number.isInteger(value) && value >= 1)) continue;
    throw new InvalidInput(`${path}.${name}`, `must be a whole number of at least 1, or null for no limit`);
  }
  const timeoutMs =
    timeout === undefined ? DEFAULTS.timeoutMs : timeout === null ? null : toMs(timeout, `${path}.timeout`);
  if (timeoutMs === 0) throw new InvalidInput(`${path}.timeout`, "must be longer than zero, or null for no limit");
  return { turns, tokens, timeoutMs };
}

/** Only counts up. */
export class Purse {
  readonly #budget: Budget;
  #turns: number;
  #tokens: number;

  constructor(budget: Budget, spent: Spent = { turns: 0, tokens: 0 }) {
    this.#budget = budget;
    this.#turns = spent.turns;
    this.#tokens = spent.tokens;
  }

  get spent(): Spent {
    return { turns: this.#turns, tokens: this.#tokens };
  }

  /** Throws when the budget is exceeded; the spending still counts. */
  spend(usage: Usage): void {
    const { turns = 0, tokens = 0 } = usage;
    for (const [name, value] of Object.entries({ turns, tokens })) {
      if (!Number.isFinite(value) || value < 0)
        throw new InvalidInput(`spend.${name}`, "must be a number of at least 0");
    }
    this.#turns += turns;
    this.#tokens += tokens;
    const { turns: mostTurns, tokens: mostTokens } = this.#budget;
    if (mostTurns !== null && this.#turns > mostTurns) throw new BudgetExhausted("turns", mostTurns, this.spent);
    if (mostTokens !== null && this.#tokens > mostTokens) throw new BudgetExhausted("tokens", mostTokens, this.spent);
  }
}

/**
 * How long the run was worked on before this claim, since its start or its last retry: under each claim, the time from
 * its first entry to its last. So neither a wait nor an outage counts; nor does the unknown time between a claim and
 * its first entry, or after its last.
 */
export function workedMs(log: readonly JournalEntry[]): number {
  const from = log.findLastIndex(({ kind }) => kind === "retried") + 1;
  const entries = log.slice(from).filter(({ epoch }) => epoch > 0);
  let worked = 0;
  for (const [i, { epoch, at }] of entries.entries()) {
    const before = entries[i - 1];
    if (before?.epoch === epoch) worked += Math.max(at - before.at, 0);
  }
  return worked;
}
