// Exports of `holdfast/actor`: actors, their expectations, strategies and episodes, and their errors.

export { type Actor, type ActorOptions, type AnyActor, actor } from "./actor.js";
export { BudgetExhausted, type BudgetOptions, type Spent, type Usage } from "./budget.js";
export { CheckpointUnreadable } from "./checkpoint.js";
export { StrategyStuck } from "./drive-strategy.js";
export type { EpisodeContext } from "./episode-context.js";
export {
  EpisodeFailed,
  type EpisodeRetry,
  type EpisodeTaskOptions,
  episode,
  type OnEpisodeFailure,
} from "./episode-task.js";
export { type Exhausted, type Expectation, type ExpectationOptions, expectation } from "./expectation.js";
export { type RegisteredStrategy, type Strategies, StrategyUnknown } from "./named-strategy.js";
export { type Done, type Move, type Strategy, type StrategyOptions, strategy } from "./strategy.js";
