// The context of an episode whose strategy is a function: a workflow's context with a budget.

import { InvalidInput } from "../kernel/error.js";
import type { Retry } from "../kernel/run/retry.js";
import type { Replay } from "../replay/replay.js";
import type { StepInfo } from "../replay/step-call.js";
import type { Context, StepOptions } from "../workflow/context.js";
import { type Surroundings, WorkflowContext } from "../workflow/workflow-context.js";
import type { Purse, Spent, Usage } from "./budget.js";

/** What an episode's function gets: the context of a workflow, with the budget of the episode. */
// biome-ignore lint/suspicious/noExplicitAny: a helper may take the context of any episode
export interface EpisodeContext<In = any> extends Context<In> {
  /** What the episode has used of its budget so far. */
  readonly spent: Spent;
  /**
   * Counts spending; throws BudgetExhausted beyond the budget. Call it between steps, with their results: a replay then
   * counts the same spending again, once.
   */
  spend(usage: Usage): void;
}

type Work<T> = (step: StepInfo) => T | Promise<T>;

export class BudgetedContext extends WorkflowContext implements EpisodeContext {
  readonly #replay: Replay;
  readonly #purse: Purse;
  readonly #retry: Retry | undefined;

  constructor(replay: Replay, surroundings: Surroundings, purse: Purse, retry: Retry | undefined) {
    super(replay, surroundings);
    this.#replay = replay;
    this.#purse = purse;
    this.#retry = retry;
  }

  get spent(): Spent {
    return this.#purse.spent;
  }

  spend(usage: Usage): void {
    // A recorded step is not run again, so spending inside it would be forgotten.
    if (this.#replay.stepWork.isRunning)
      throw new InvalidInput("spend", "cannot be called inside a step; call it with its result");
    this.#purse.spend(usage);
  }

  override step<T>(name: string, ...rest: [Work<T>] | [StepOptions, Work<T>]): Promise<T> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
    const retry = this.#retry === undefined ? {} : { retry: this.#retry };
    return super.step(name, { ...retry, ...options }, work);
  }
}
