// What an episode may use up: turns, tokens and time at work. Counted from its journal, so no crash gives any of it back.

import { type Duration, toMs } from "../kernel/duration.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";

/** What a user writes; null: no limit. */
export interface BudgetOptions {
  /** Moves of a strategy, or what a function says it has spent. Default 12. */
  readonly turns?: number | null;
  /** As counted by you: `ctx.spend({ tokens })`. Default 25,000. */
  readonly tokens?: number | null;
  /** Time at work; waiting for a person, a signal or a time does not count. Default 2 minutes. */
  readonly timeout?: Duration | null;
}

export interface Budget {
  readonly turns: number | null;
  readonly tokens: number | null;
  readonly timeoutMs: number | null;
}

export interface Usage {
  readonly turns?: number;
  readonly tokens?: number;
}

export interface Spent {
  readonly turns: number;
  readonly tokens: number;
}

export type BudgetLimit = "turns" | "tokens" | "timeout";

const DEFAULTS: Budget = { turns: 12, tokens: 25_000, timeoutMs: 120_000 };

/** The episode has used up what it may. */
export class BudgetExhausted extends HoldfastError {
  readonly code = "BUDGET_EXHAUSTED";
  readonly limit: BudgetLimit;
  readonly spent: Spent;

  constructor(limit: BudgetLimit, most: number, spent: Spent) {
    const what = limit === "timeout" ? `${most} ms at work` : `${most} ${limit}`;
    super(
      `The episode has used up its budget of ${what}. Raise budget.${limit}, set it to null for no limit, ` +
        "or answer something with onBudgetExhausted.",
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
  if (timeoutMs === 0) throw new InvalidInput(`${path}.timeout`, "must be longer than nothing, or null for no limit");
  return { turns, tokens, timeoutMs };
}

/** Counts up and never back. */
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

  /** Throws when more was spent than there is; what was spent stays spent. */
  spend(usage: Usage): void {
    const { turns = 0, tokens = 0 } = usage;
    for (const [name, value] of Object.entries({ turns, tokens })) {
      if (!Number.isFinite(value) || value < 0)
        throw new InvalidInput(`spend.${name}`, "must be a number, not negative");
    }
    this.#turns += turns;
    this.#tokens += tokens;
    const { turns: mostTurns, tokens: mostTokens } = this.#budget;
    if (mostTurns !== null && this.#turns > mostTurns) throw new BudgetExhausted("turns", mostTurns, this.spent);
    if (mostTokens !== null && this.#tokens > mostTokens) throw new BudgetExhausted("tokens", mostTokens, this.spent);
  }
}

/**
 * How long the run was worked on before this claim, since its start or since somebody opened it again: under each claim the
 * time from its first entry to its last. So neither a wait nor an outage counts; what a node did between its claim and its
 * first entry, or after its last, is not known and does not, either.
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
