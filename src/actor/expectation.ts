// An expectation: what an actor watches for, what it does then, and its budget. `actor` gives it its name.

import type { CircuitBreaker } from "../kernel/breaker-rule.js";
import type { ScalarPath } from "../kernel/input-path.js";
import type { Recovery } from "../kernel/run/recovery.js";
import type { Retry } from "../kernel/run/retry.js";
import type { InputOf, OutputOf, Schema } from "../program/schema.js";
import type { InputOfTriggers, Trigger } from "../trigger/trigger.js";
import type { BudgetLimit, BudgetOptions, Spent } from "./budget.js";
import type { EpisodeContext } from "./episode-context.js";
import type { NamedStrategy } from "./named-strategy.js";
import type { Strategy } from "./strategy.js";

export type EpisodeFunction<In, Out> = (ctx: EpisodeContext<In>, input: In) => Promise<Out>;

/** The situation of an episode when its budget was used up. */
export interface Exhausted<In> {
  /** The part of the budget that is used up. */
  readonly limit: BudgetLimit;
  /** What the episode has used. */
  readonly spent: Spent;
  /** The input of the episode. */
  readonly input: In;
  /** The state of a strategy with moves; undefined for a function. */
  readonly state: unknown;
}

/** Options of an expectation: its budget, retries, recovery and limits. */
export interface ExpectationOptions<In, Out> {
  /** How much an episode may use. @default 12 turns, 25,000 tokens, two minutes of working time */
  readonly budget?: BudgetOptions;
  /** The episode's result in that case, instead of failing with BUDGET_EXHAUSTED. */
  readonly onBudgetExhausted?: (exhausted: Exhausted<In>) => Out;
  /** The default for its steps. @default 3 attempts, exponential from 1 s */
  readonly retry?: Retry;
  /** What happens to an episode when the process that worked on it died. @default resume */
  readonly recovery?: Recovery;
  /** After this many failures in a row, triggers start no episode until a probe succeeds. */
  readonly circuitBreaker?: CircuitBreaker;
  /**
   * One episode at a time: for each subject of its triggers, or for each value of a path. Inputs without a value share
   * one key.
   */
  readonly serial?: "subject" | ScalarPath<In>;
}

/** An expectation, as `expectation()` makes it. Give it to `actor()`. */
export interface Expectation<In, Out, Parsed = In> {
  /** Distinguishes an expectation from other values. */
  readonly kind: "expectation";
  /** The function or strategy of its episodes. */
  readonly strategy: EpisodeFunction<Parsed, Out> | Strategy<Parsed, Out> | NamedStrategy;
  /** The options it was made with. */
  readonly options: ExpectationOptions<Parsed, Out> & {
    readonly input?: Schema<In, Parsed>;
    // biome-ignore lint/suspicious/noExplicitAny: whatever each trigger brings
    readonly on?: readonly Trigger<any>[];
  };
  /** Carries the types only. */
  readonly "~types"?: (input: In, parsed: Parsed) => Out;
}

// biome-ignore lint/suspicious/noExplicitAny: any expectation, whatever it takes and answers
export type AnyExpectation = Expectation<any, any, any>;

// biome-ignore lint/suspicious/noExplicitAny: any strategy, whatever it takes and answers
type AnyRun = ((ctx: EpisodeContext, input: any) => Promise<any>) | Strategy<any, any>;
type InputOfRun<Run, None = void> =
  Run extends Strategy<infer In, infer _Out>
    ? In
    : // biome-ignore lint/suspicious/noExplicitAny: only its input is asked for
      Run extends (ctx: any, ...rest: infer Rest) => unknown
      ? Rest extends []
        ? None
        : Rest[0]
      : never;
type OutputOfRun<Run> =
  Run extends Strategy<infer _In, infer Out> ? Out : Run extends (...args: never) => Promise<infer Out> ? Out : never;

/** Defines what an actor does: an async function or a strategy, with a budget, and what starts it. */
export function expectation<Run extends AnyRun>(run: Run): Expectation<InputOfRun<Run>, OutputOfRun<Run>>;
/** With a schema, the input is what the schema produces. */
export function expectation<Takes extends Schema, Out>(
  options: ExpectationOptions<OutputOf<Takes>, NoInfer<Out>> & { readonly input: Takes },
  run: EpisodeFunction<OutputOf<Takes>, Out> | Strategy<OutputOf<Takes>, Out>,
): Expectation<InputOf<Takes>, Out, OutputOf<Takes>>;
/** With several triggers, the input is a union: distinguish by `type`. */
export function expectation<
  // biome-ignore lint/suspicious/noExplicitAny: whatever each trigger brings
  const Triggers extends readonly Trigger<any>[],
  Out,
>(
  options: ExpectationOptions<InputOfTriggers<Triggers>, NoInfer<Out>> & { readonly on: Triggers },
  run: EpisodeFunction<InputOfTriggers<Triggers>, Out> | Strategy<InputOfTriggers<Triggers>, Out>,
): Expectation<InputOfTriggers<Triggers>, Out>;
/** Started only by calls, with the input its function takes. */
export function expectation<Run extends AnyRun>(
  options: ExpectationOptions<InputOfRun<Run>, OutputOfRun<Run>>,
  run: Run,
): Expectation<InputOfRun<Run>, OutputOfRun<Run>>;
export function expectation(
  ...rest: [AnyExpectation["strategy"]] | [AnyExpectation["options"], AnyExpectation["strategy"]]
): AnyExpectation {
  const [options, strategy] = rest.length === 1 ? [{}, rest[0]] : rest;
  return { kind: "expectation", options, strategy };
}
