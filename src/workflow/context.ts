// The type of a workflow and of its context: every call is answered from the journal, or made and recorded.

import type { Duration } from "../kernel/duration.js";
import type { AttributeChanges } from "../kernel/run/attribute.js";
import type { Retry } from "../kernel/run/retry.js";
import type { Definition } from "../program/definition.js";
import type { Services } from "../program/environment.js";
import type { StartArguments, StartOptions } from "../program/start-options.js";
import type { Signal } from "../replay/signal.js";
import type { StepInfo } from "../replay/step-call.js";
import type { StepTransactionClient } from "../store/contract/transaction.js";
import type { Emitted } from "../trigger/emitted.js";
import type { EventType } from "../trigger/event.js";

/** Options of a step: retries, timeout, and what happens when it is interrupted. */
export interface StepOptions {
  /** Distinguishes steps with the same name. @default the number of the call */
  readonly key?: string;
  /** Attempts in total, or a policy. @default 3, exponential from 1 s */
  readonly retry?: Retry;
  /** Which errors are worth another attempt. @default all but PermanentError */
  readonly retryIf?: (error: unknown) => boolean;
  /** Limit for each attempt. @default none */
  readonly timeout?: Duration;
  /** Never run again once begun, even if its node dies: it fails with STEP_INTERRUPTED instead. */
  readonly atMostOnce?: boolean;
  /**
   * The result counts even if it arrives after `signal` was aborted because the node stops or the run is paused.
   * Otherwise such a result is dropped, because it may be partial, and the step runs again. Set it when the step never
   * returns early. @default false
   */
  readonly finishOnAbort?: boolean;
}

/** Options of `ctx.onCancel`. */
export type CompensationOptions = Omit<StepOptions, "key" | "finishOnAbort">;
/** Options of `ctx.transaction`. */
export type TransactionOptions = Omit<StepOptions, "atMostOnce">;

/** A question to a person. */
export interface ApprovalOptions<Choices extends readonly string[]> {
  /** The question, as people see it. */
  readonly ask: string;
  /** The answers that are allowed. @default approved, denied */
  readonly choices?: Choices;
  /**
   * What will be done if approved. The decision is bound to its hash, so a person cannot approve something else than
   * was shown.
   */
  readonly plan?: unknown;
  /** Who should decide, for the inbox of approvals. */
  readonly to?: string;
  /** How long the run waits for a decision. @default for ever */
  readonly timeout?: Duration;
  /** The choice that counts when the approval times out. Without it the outcome is then `expired`. */
  readonly default?: Choices[number];
}

/** `by` is null when the approval timed out and the default counts. `data`: what the person sent with the choice. */
export type Decision<Choice extends string> =
  | { readonly outcome: Choice; readonly by: string | null; readonly note: string | null; readonly data?: unknown }
  | { readonly outcome: "expired" };

/** Options of `ctx.output`. */
export interface OutputOptions {
  /** How long the key is kept: a call with it delivers nothing before that. @default a year */
  readonly keep?: Duration;
  /** Limit for the delivery. @default none */
  readonly timeout?: Duration;
}

/** `by`: the run whose call has the key; it may have delivered, have failed to, or be about to. */
export type Output<T> =
  | { readonly outcome: "delivered"; readonly value: T }
  | { readonly outcome: "duplicate"; readonly by: string };

/** Options of `ctx.child` and `ctx.children`. */
export interface ChildOptions {
  /**
   * What happens to the child when this run is cancelled or times out, completes without waiting for it, or withdraws it
   * from a race. A run that fails leaves its children alone: a retry takes their results. @default cancel
   */
  readonly onParentEnd?: "cancel" | "abandon";
}

/** Which branch of a race was first, and what it returned. */
export type Winner<Branches extends Readonly<Record<string, Promise<unknown>>>> = {
  readonly [Name in keyof Branches]: { readonly winner: Name; readonly value: Awaited<Branches[Name]> };
}[keyof Branches];

/** What the function of a workflow gets. Each call is recorded; a replay answers it from the journal. `In` is the input of continueAsNew. */
// biome-ignore lint/suspicious/noExplicitAny: a helper may take the context of any workflow
export interface Context<In = any> {
  /** The id of the run. */
  readonly runId: string;
  /** 0 for a run as it was started; one higher each time it continues as new or is retried. */
  readonly generation: number;
  /** The node's services, overlaid with those of this run. */
  readonly services: Services;
  /** Does something once: the result is recorded and never computed again. */
  step<T>(name: string, work: (step: StepInfo) => T | Promise<T>): Promise<T>;
  step<T>(name: string, options: StepOptions, work: (step: StepInfo) => T | Promise<T>): Promise<T>;
  /** Your statements and their journal entry in one transaction of Holdfast's own database: exactly once. */
  transaction<T>(name: string, work: (tx: StepTransactionClient, step: StepInfo) => T | Promise<T>): Promise<T>;
  transaction<T>(
    name: string,
    options: TransactionOptions,
    work: (tx: StepTransactionClient, step: StepInfo) => T | Promise<T>,
  ): Promise<T>;
  /** Holds no slot and no lease while it sleeps. */
  sleep(name: string, duration: Duration): Promise<void>;
  /** Sleeps until a point in time. Holds no slot and no lease. */
  sleepUntil(name: string, when: Date): Promise<void>;
  /** The next message of this signal, even if it arrived earlier. With a timeout, undefined when none came in time. */
  waitFor<T>(signal: Signal<T>): Promise<T>;
  waitFor<T>(signal: Signal<T>, options: { readonly timeout: Duration }): Promise<T | undefined>;
  /** Asks a person. One decision counts; the journal records who made it. */
  approval<const Choices extends readonly string[] = ["approved", "denied"]>(
    name: string,
    options: ApprovalOptions<Choices>,
  ): Promise<Decision<Choices[number]>>;
  /** Starts a run and waits for its result; throws the error the child failed with. */
  child<In, Out, Parsed>(program: Definition<string, In, Out, Parsed>, input: In, options?: ChildOptions): Promise<Out>;
  /** Many at once: this run wakes when the last of them has ended. */
  children<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    inputs: readonly In[],
    options?: ChildOptions,
  ): Promise<Out[]>;
  /**
   * Waits for the first of several calls of this context and withdraws the others: a lost wait takes no message, a lost
   * child is cancelled, a lost step aborted, a lost question closed. Rejects when the first one failed.
   */
  race<const Branches extends Readonly<Record<string, Promise<unknown>>>>(
    branches: Branches,
  ): Promise<Winner<Branches>>;
  /**
   * Undoes something when the run is cancelled or times out: after the function has ended, the last registered first,
   * each as a step. Call it before the step that it undoes, or right after it. Returns a function that forgets it.
   */
  onCancel(name: string, compensate: (step: StepInfo) => unknown): () => void;
  onCancel(name: string, options: CompensationOptions, compensate: (step: StepInfo) => unknown): () => void;
  /** Calls in here are made to their end even if the run is cancelled or has timed out, within `cleanupTimeout`. */
  cleanup<T>(work: () => T | Promise<T>): Promise<T>;
  /**
   * Starts a run and does not wait for it: exactly once for each call of this run, also after a takeover. The run is independent:
   * its end and this run's do not affect each other.
   */
  start<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    ...args: StartArguments<In, Omit<StartOptions, "tx">>
  ): Promise<{ readonly id: string }>;
  /** Emits an event exactly once for each call of this run. The id identifies it to triggers; default: the call itself. */
  emit<Name extends string, Payload extends object>(
    type: EventType<Name, Payload>,
    payload: NoInfer<Payload>,
    options?: { readonly id?: string },
  ): Promise<Emitted>;
  /**
   * Delivers something at most once under this key in the whole env, whichever run, node or generation asks: the key is recorded before
   * `deliver` begins. A delivery that throws, or whose node dies, is not repeated.
   */
  output<T>(key: string, deliver: (step: StepInfo) => T | Promise<T>): Promise<Output<T>>;
  output<T>(key: string, options: OutputOptions, deliver: (step: StepInfo) => T | Promise<T>): Promise<Output<T>>;
  /** Shows a value to `run.get(name)` in any process, until it is set again. At most 8 kB. */
  set(name: string, value: unknown): Promise<void>;
  /** Sets search attributes for `runs.list`; null removes one. A run has at most eight. */
  setAttributes(attributes: AttributeChanges): Promise<void>;
  /** Reports progress to watchers of the run. */
  progress(value: unknown): Promise<void>;
  /** Recorded, so that a replay sees the same values. */
  now(): Promise<Date>;
  /** A number from 0 to 1, recorded. */
  random(): Promise<number>;
  /** A random UUID, recorded. */
  uuid(): Promise<string>;
  /**
   * Ends this generation and starts the next with this input: the same run, key and inbox, an empty journal. For
   * endless loops, whose journal would otherwise grow without bound.
   */
  continueAsNew(input: In): Promise<never>;
  /**
   * Guards a code change under live runs: false in runs that had passed this point before the change, true in all
   * others.
   */
  patched(change: string): Promise<boolean>;
}

export type WorkflowFunction<In, Out> = (ctx: Context<In>, input: In) => Promise<Out>;

/** `In` is the input of a start; `Parsed` is what the function receives. */
export interface Workflow<Name extends string, In, Out, Parsed = In> extends Definition<Name, In, Out, Parsed> {
  /** Distinguishes a workflow from other programs. */
  readonly kind: "workflow";
  /** How long a run may take; null: no limit. */
  readonly timeoutMs: number | null;
  /** How long a run may clean up. */
  readonly cleanupMs: number;
  /** Its function. */
  readonly run: WorkflowFunction<Parsed, Out>;
}

// biome-ignore lint/suspicious/noExplicitAny: any workflow, whatever it takes and returns
export type AnyWorkflow = Workflow<string, any, any, any>;
