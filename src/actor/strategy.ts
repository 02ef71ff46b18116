// A strategy of single moves: `init` creates a state, `next` decides the next move, `handle` derives the next state
// from its result.
//
// Decisions are pure data: results are in the journal, and the state is rebuilt from them after a crash. From a
// checkpoint on, only from later entries.

import type { Duration } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { stepName } from "../kernel/name.js";
import type { Retry } from "../kernel/run/retry.js";
import type { Services } from "../program/environment.js";
import type { Signal } from "../replay/signal.js";
import type { StepInfo } from "../replay/step-call.js";
import type { Decision } from "../workflow/context.js";
import type { Spent, Usage } from "./budget.js";

/** The functions a strategy can call, by name. */
// biome-ignore lint/suspicious/noExplicitAny: each takes and returns what it likes
export type Steps = Readonly<Record<string, (step: StepInfo, args: any, services: Services) => unknown>>;
// biome-ignore lint/suspicious/noExplicitAny: each brings what it likes
export type Signals = Readonly<Record<string, Signal<any>>>;

// biome-ignore lint/suspicious/noExplicitAny: only the second parameter is asked for
type ArgsOf<Step> = Step extends (step: any, args: infer Args, ...rest: any) => unknown ? Args : undefined;
type ResultOf<Step> = Step extends (...args: never) => infer Result ? Awaited<Result> : never;
type PayloadOf<S> = S extends Signal<infer T> ? T : never;

/** The next move. */
export type Move<D extends Steps, S extends Signals, Out> =
  | {
      [Name in keyof D & string]: {
        readonly do: "call";
        readonly name: Name;
        readonly retry?: Retry;
        readonly timeout?: Duration;
        /**
         * The result counts even if it arrives after `step.signal` was aborted. Default: it is dropped, and the call is
         * made again.
         */
        readonly finishOnAbort?: boolean;
      } & (undefined extends ArgsOf<D[Name]>
        ? { readonly args?: ArgsOf<D[Name]> }
        : { readonly args: ArgsOf<D[Name]> });
    }[keyof D & string]
  /** After a crash, or after a deploy that migrates its state, the strategy resumes from here. */
  | { readonly do: "checkpoint" }
  /** Asks a person. The decision is bound to a hash of the question and the plan: another plan is another question. */
  | {
      readonly do: "approval";
      readonly name: string;
      readonly ask: string;
      readonly plan?: unknown;
      readonly choices?: readonly string[];
      readonly to?: string;
      readonly timeout?: Duration;
    }
  /** Waits for a signal; on timeout, its payload is undefined. */
  | { readonly do: "wait"; readonly name: keyof S & string; readonly timeout?: Duration }
  | { readonly do: "sleep"; readonly name: string; readonly for: Duration }
  | { readonly do: "done"; readonly result: Out };

/** A move and its result. */
export type Done<D extends Steps, S extends Signals> =
  | {
      [Name in keyof D & string]: {
        readonly did: "call";
        readonly name: Name;
        readonly args: ArgsOf<D[Name]>;
        readonly result: ResultOf<D[Name]>;
      };
    }[keyof D & string]
  | { readonly did: "checkpoint" }
  | { readonly did: "approval"; readonly name: string; readonly decision: Decision<string> }
  | {
      [Name in keyof S & string]: {
        readonly did: "wait";
        readonly name: Name;
        readonly payload: PayloadOf<S[Name]> | undefined;
      };
    }[keyof S & string]
  | { readonly did: "sleep"; readonly name: string };

/** A call that failed for good. */
export interface FailedCall {
  /** The name of the step. */
  readonly name: string;
  /** Its arguments. */
  readonly args: unknown;
}

/** The version of a strategy's stored state, and how older ones are converted. */
export interface Checkpoints {
  /** The version of the state as this code writes it. */
  readonly version: number;
  /** By old version: converts the state to the next version. */
  // biome-ignore lint/suspicious/noExplicitAny: older states have older types
  readonly migrate?: Readonly<Record<number, (state: any) => unknown>>;
}

/** `handle` and `failed` count spending with it. */
export interface Counter {
  /** What the episode has used. */
  readonly spent: Spent;
  /** Adds to it; throws when the budget is exceeded. */
  readonly spend: (usage: Usage) => void;
}

/** Options of `strategy()`: how its state begins, what the next move is, and how a result changes the state. */
export interface StrategyOptions<In, State, D extends Steps, S extends Signals, Out> {
  /** The functions that its moves may call, by name. */
  readonly steps: D;
  /** The signals that its moves may wait for, by name. */
  readonly signals?: S;
  /** The version of the stored state, and how older ones are converted. @default version 1 */
  readonly checkpoints?: Checkpoints;
  /** Recorded, so it runs once. `config`: from a definition in the database. */
  readonly init: (step: StepInfo, input: In, services: Services, config: unknown) => State | Promise<State>;
  /** Decides the next move from the state. Pure: it is called again after a crash. */
  readonly next: (state: NoInfer<State>, spent: Spent) => Move<D, S, Out>;
  /** Derives the next state from a move and its result. Pure. */
  readonly handle: (state: NoInfer<State>, step: Done<D, S>, counter: Counter) => NoInfer<State>;
  /** Called when a call has failed for good. @default the episode fails with its error */
  readonly failed?: (state: NoInfer<State>, call: FailedCall, error: unknown, counter: Counter) => NoInfer<State>;
}

/** A strategy, as `strategy()` makes it. Give it to `expectation()`. */
export interface Strategy<In, Out> {
  /** Distinguishes a strategy from a function. */
  readonly kind: "strategy";
  /** The options it was made with. */
  // biome-ignore lint/suspicious/noExplicitAny: a strategy's own state, steps and signals are its own affair
  readonly options: StrategyOptions<any, any, any, any, any>;
  /** Carries the types only. */
  readonly "~types"?: (input: In) => Out;
}

/**
 * Defines a strategy of single moves: `next` decides on a move, `handle` takes its result. Write `steps` and `init` first: the types of
 * the rest are inferred from them.
 *
 * @example
 * ```ts
 * const advice = strategy({
 *   steps: { ask: async (_step, question: string) => ({ answer: `${question}: clean up`, tokens: 40 }) },
 *   checkpoints: { version: 1 },
 *   init: (_step, input: { resourceId: string }) => ({
 *     resourceId: input.resourceId,
 *     answers: [] as string[],
 *     saved: false,
 *   }),
 *   next: (state) => {
 *     if (state.answers.length < 2)
 *       return { do: "call", name: "ask", args: `${state.resourceId} ${state.answers.length + 1}` };
 *     if (!state.saved) return { do: "checkpoint" };
 *     return { do: "done", result: state.answers };
 *   },
 *   handle: (state, step, { spend }) => {
 *     if (step.did === "checkpoint") return { ...state, saved: true };
 *     if (step.did !== "call") return state;
 *     spend({ tokens: step.result.tokens });
 *     return { ...state, answers: [...state.answers, step.result.answer] };
 *   },
 * });
 * ```
 */
export function strategy<In, State, const D extends Steps, Out, S extends Signals = Record<never, never>>(
  options: StrategyOptions<In, State, D, S, Out>,
): Strategy<In, Out> {
  for (const name of Object.keys(options.steps)) stepName(name, "steps");
  const { version = 1, migrate = {} } = options.checkpoints ?? {};
  if (!Number.isInteger(version) || version < 1)
    throw new InvalidInput("checkpoints.version", "must be a whole number of at least 1");
  for (const from of Object.keys(migrate)) {
    if (Number(from) >= 1 && Number(from) < version) continue;
    throw new InvalidInput(`checkpoints.migrate[${from}]`, `must be a version before ${version}`);
  }
  return { kind: "strategy", options };
}
