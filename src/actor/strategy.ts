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
  readonly name: string;
  readonly args: unknown;
}

export interface Checkpoints {
  /** The version of the state as this code writes it. */
  readonly version: number;
  /** By old version: converts the state to the next version. */
  // biome-ignore lint/suspicious/noExplicitAny: older states have older types
  readonly migrate?: Readonly<Record<number, (state: any) => unknown>>;
}

/** `handle` and `failed` count spending with it. */
export interface Counter {
  readonly spent: Spent;
  readonly spend: (usage: Usage) => void;
}

export interface StrategyOptions<In, State, D extends Steps, S extends Signals, Out> {
  readonly steps: D;
  readonly signals?: S;
  /** Default: version 1. */
  readonly checkpoints?: Checkpoints;
  /** Recorded, so it runs once. `config`: from a definition in the database. */
  readonly init: (step: StepInfo, input: In, services: Services, config: unknown) => State | Promise<State>;
  readonly next: (state: NoInfer<State>, spent: Spent) => Move<D, S, Out>;
  readonly handle: (state: NoInfer<State>, step: Done<D, S>, counter: Counter) => NoInfer<State>;
  /** Called when a call has failed for good. Default: the episode fails with its error. */
  readonly failed?: (state: NoInfer<State>, call: FailedCall, error: unknown, counter: Counter) => NoInfer<State>;
}

export interface Strategy<In, Out> {
  readonly kind: "strategy";
  // biome-ignore lint/suspicious/noExplicitAny: a strategy's own state, steps and signals are its own affair
  readonly options: StrategyOptions<any, any, any, any, any>;
  /** Carries the types only. */
  readonly "~types"?: (input: In) => Out;
}

/** Write `steps` and `init` first: the types of the rest are inferred from them. */
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
