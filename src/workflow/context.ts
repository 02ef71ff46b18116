// A workflow as a value, and what its function is given: every call is answered from the journal, or made and recorded.

import type { Duration } from "../kernel/duration.js";
import type { LimitRule } from "../kernel/limit-rule.js";
import type { Retry } from "../kernel/retry.js";
import type { Signal } from "./signal.js";
import type { StepInfo } from "./step-call.js";

export interface StepOptions {
  /** Tells steps of one name apart. Default: which time it is asked for. */
  readonly key?: string;
  /** Attempts in total, or a policy. Default 3, exponential from 1 s. */
  readonly retry?: Retry;
  /** Of each attempt. Default: none. */
  readonly timeout?: Duration;
  /** Never run again once begun, whatever happens to its node: it fails with STEP_INTERRUPTED instead. */
  readonly atMostOnce?: boolean;
}

export interface ApprovalOptions<Choices extends readonly string[]> {
  readonly ask: string;
  /** Default: approve, deny. */
  readonly choices?: Choices;
  /** Who should decide, for the inbox of approvals. */
  readonly to?: string;
  readonly timeout?: Duration;
}

export type Decision<Choice extends string> =
  | { readonly outcome: "decided"; readonly choice: Choice; readonly by: string; readonly note: string | null }
  | { readonly outcome: "expired" };

export interface Context {
  readonly runId: string;
  /** Does something once: its result is recorded, and never asked for again. */
  step<T>(name: string, work: (step: StepInfo) => T | Promise<T>): Promise<T>;
  step<T>(name: string, options: StepOptions, work: (step: StepInfo) => T | Promise<T>): Promise<T>;
  /** Holds no slot and no lease while it sleeps. */
  sleep(name: string, duration: Duration): Promise<void>;
  sleepUntil(name: string, when: Date): Promise<void>;
  /** The next message of this signal, also when it came before. With a timeout, undefined when none came in time. */
  waitFor<T>(signal: Signal<T>): Promise<T>;
  waitFor<T>(signal: Signal<T>, options: { readonly timeout: Duration }): Promise<T | undefined>;
  /** Asks a person. One decision counts, and it is recorded who made it. */
  approval<const Choices extends readonly string[] = ["approve", "deny"]>(
    name: string,
    options: ApprovalOptions<Choices>,
  ): Promise<Decision<Choices[number]>>;
  /** Starts a run and waits for its result; fails with what it failed with. */
  child<In, Out>(workflow: Workflow<string, In, Out>, input: In): Promise<Out>;
  /** Many at once: this run wakes when the last of them has ended. */
  children<In, Out>(workflow: Workflow<string, In, Out>, inputs: readonly In[]): Promise<Out[]>;
  /** For whoever watches the run. */
  progress(value: unknown): Promise<void>;
  /** Recorded, so that they are the same when the function runs again. */
  now(): Promise<Date>;
  random(): Promise<number>;
  uuid(): Promise<string>;
}

export type WorkflowFunction<In, Out> = (ctx: Context, input: In) => Promise<Out>;

export interface Workflow<Name extends string, In, Out> {
  readonly kind: "workflow";
  readonly name: Name;
  readonly queue: string;
  readonly version: string | null;
  readonly timeoutMs: number | null;
  /** Narrow to wide. */
  readonly limits: readonly LimitRule[];
  readonly run: WorkflowFunction<In, Out>;
}

// biome-ignore lint/suspicious/noExplicitAny: any workflow, whatever it takes and returns
export type AnyWorkflow = Workflow<string, any, any>;
