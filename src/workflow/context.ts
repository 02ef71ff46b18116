// A workflow as a value, and what its function is given: every call is answered from the journal, or made and recorded.

import type { Duration } from "../kernel/duration.js";
import type { Retry } from "../kernel/run/retry.js";
import type { Definition } from "../program/definition.js";
import type { Services } from "../program/environment.js";
import type { Signal } from "../replay/signal.js";
import type { StepInfo } from "../replay/step-call.js";
import type { Transaction } from "../store/contract/transaction.js";

export interface StepOptions {
  /** Tells steps of one name apart. Default: which time it is asked for. */
  readonly key?: string;
  /** Attempts in total, or a policy. Default 3, exponential from 1 s. */
  readonly retry?: Retry;
  /** Which errors are worth another attempt. Default: all but PermanentError. */
  readonly retryIf?: (error: unknown) => boolean;
  /** Of each attempt. Default: none. */
  readonly timeout?: Duration;
  /** Never run again once begun, whatever happens to its node: it fails with STEP_INTERRUPTED instead. */
  readonly atMostOnce?: boolean;
  /**
   * Its result counts also when it arrives after `signal` was aborted, because its node stops or its run is paused. Default
   * false: such a result may be a part of the work; it is dropped, and the step runs again. Set it when the step never answers early.
   */
  readonly finishOnAbort?: boolean;
}

export type TransactionOptions = Omit<StepOptions, "atMostOnce">;

export interface ApprovalOptions<Choices extends readonly string[]> {
  readonly ask: string;
  /** Default: approved, denied. */
  readonly choices?: Choices;
  /** What is to be done if they agree. The decision is bound to it: what was shown and what is asked must be the same. */
  readonly plan?: unknown;
  /** Who should decide, for the inbox of approvals. */
  readonly to?: string;
  readonly timeout?: Duration;
  /** What counts when nobody decides in time. Without it the outcome is then `expired`. */
  readonly default?: Choices[number];
}

/** `by` is null when nobody decided and the default counts. */
export type Decision<Choice extends string> =
  | { readonly outcome: Choice; readonly by: string | null; readonly note: string | null }
  | { readonly outcome: "expired" };

/** `In` is what continueAsNew takes. */
// biome-ignore lint/suspicious/noExplicitAny: a helper may take the context of any workflow
export interface Context<In = any> {
  readonly runId: string;
  /** 0 for a run as it was started; one more each time it begins anew or is opened again. */
  readonly generation: number;
  /** The node's services, with those of this run over them. */
  readonly services: Services;
  /** Does something once: its result is recorded, and never asked for again. */
  step<T>(name: string, work: (step: StepInfo) => T | Promise<T>): Promise<T>;
  step<T>(name: string, options: StepOptions, work: (step: StepInfo) => T | Promise<T>): Promise<T>;
  /** Your statements and the record that they are done, in one transaction of Holdfast's own database: exactly once. */
  transaction<T>(name: string, work: (tx: Transaction, step: StepInfo) => T | Promise<T>): Promise<T>;
  transaction<T>(
    name: string,
    options: TransactionOptions,
    work: (tx: Transaction, step: StepInfo) => T | Promise<T>,
  ): Promise<T>;
  /** Holds no slot and no lease while it sleeps. */
  sleep(name: string, duration: Duration): Promise<void>;
  sleepUntil(name: string, when: Date): Promise<void>;
  /** The next message of this signal, also when it came before. With a timeout, undefined when none came in time. */
  waitFor<T>(signal: Signal<T>): Promise<T>;
  waitFor<T>(signal: Signal<T>, options: { readonly timeout: Duration }): Promise<T | undefined>;
  /** Asks a person. One decision counts, and it is recorded who made it. */
  approval<const Choices extends readonly string[] = ["approved", "denied"]>(
    name: string,
    options: ApprovalOptions<Choices>,
  ): Promise<Decision<Choices[number]>>;
  /** Starts a run and waits for its result; fails with what it failed with. */
  child<In, Out, Parsed>(program: Definition<string, In, Out, Parsed>, input: In): Promise<Out>;
  /** Many at once: this run wakes when the last of them has ended. */
  children<In, Out, Parsed>(program: Definition<string, In, Out, Parsed>, inputs: readonly In[]): Promise<Out[]>;
  /** For whoever watches the run. */
  progress(value: unknown): Promise<void>;
  /** Recorded, so that they are the same when the function runs again. */
  now(): Promise<Date>;
  random(): Promise<number>;
  uuid(): Promise<string>;
  /**
   * Ends here and begins anew with this input: the same run, key and inbox, an empty log. For loops without an end, whose
   * log would grow without one.
   */
  continueAsNew(input: In): Promise<never>;
  /** Changes code under live runs: false in those that had passed this point before the change, true in all others. */
  patched(change: string): Promise<boolean>;
}

export type WorkflowFunction<In, Out> = (ctx: Context<In>, input: In) => Promise<Out>;

/** `In` is what a start takes; `Parsed` what the function gets. */
export interface Workflow<Name extends string, In, Out, Parsed = In> extends Definition<Name, In, Out, Parsed> {
  readonly kind: "workflow";
  readonly timeoutMs: number | null;
  readonly run: WorkflowFunction<Parsed, Out>;
}

// biome-ignore lint/suspicious/noExplicitAny: any workflow, whatever it takes and returns
export type AnyWorkflow = Workflow<string, any, any, any>;
