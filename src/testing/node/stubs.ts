// Stubs: what a test puts in place of steps, children, signals and approvals.

import type { DecisionOptions } from "../../client/run-handle.js";
import type { UserCall } from "../../kernel/world.js";
import type { AnyDefinition, Definition } from "../../program/definition.js";
import type { Signal } from "../../replay/signal.js";
import type { StepInfo } from "../../replay/step-call.js";
import { workflow } from "../../workflow/workflow.js";
import type { OpenCall } from "./what-waits.js";

/** Instead of a step's function. It may throw: the step then fails as it would. */
export type StepStub = (step: StepInfo, runId: string) => unknown;

/** The decision that a stubbed approval gets at once. */
export type ApprovalStub = Pick<DecisionOptions, "choice" | "note"> & { readonly by?: string };

/** What is sent to a run that waits. */
export type Answer =
  | { readonly to: "signal"; readonly payload: unknown }
  | { readonly to: "approval"; readonly decision: DecisionOptions };

/** Replaces steps, transactions, children and approvals of programs in a test. */
export class Stubs {
  readonly #steps = new Map<string, StepStub>();
  readonly #children = new Map<string, AnyDefinition>();
  readonly #signals = new Map<string, unknown>();
  readonly #approvals = new Map<string, ApprovalStub>();
  readonly #onProgram: () => void;

  /** `onProgram`: the list of programs has changed. */
  constructor(onProgram: () => void) {
    this.#onProgram = onProgram;
  }

  /** Every step, transaction, graph node or task of this name calls the stub instead of its own function. */
  step(name: string, stub: StepStub): this {
    this.#steps.set(name, stub);
    return this;
  }

  /** Runs of this program call the stub instead of the program: for children, and for programs that are not listed. */
  child<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    stub: (input: Parsed) => NoInfer<Out> | Promise<NoInfer<Out>>,
  ): this {
    const { name, queue, version } = program;
    const options = { queue, ...(version !== null && { version }) };
    this.#children.set(
      name,
      workflow(name, options, async (_ctx, input: Parsed) => stub(input)),
    );
    this.#onProgram();
    return this;
  }

  /** Sent to every run that waits for this signal. */
  signal<T>(signal: Signal<T>, ...[payload]: undefined extends T ? [payload?: T] : [payload: T]): this {
    this.#signals.set(signal.name, payload);
    return this;
  }

  /** Decides every approval of this name. */
  approval(name: string, decision: ApprovalStub): this {
    this.#approvals.set(name, decision);
    return this;
  }

  /** @internal The stub of a call, or its own work. */
  perform<T>({ name, info, runId }: UserCall, work: () => T): T {
    const stub = this.#steps.get(name);
    // A step's stub may return anything; the step's caller declared what it expects.
    return stub ? (stub(info, runId) as T) : work();
  }

  /** @internal The programs of a node, with stubs in place of those that have one. */
  programs<P extends { readonly name: string }>(listed: readonly P[]): readonly (P | AnyDefinition)[] {
    const others = listed.filter(({ name }) => !this.#children.has(name));
    return [...others, ...this.#children.values()];
  }

  /** @internal Whether there is something to answer with. */
  get answers(): boolean {
    return this.#signals.size + this.#approvals.size > 0;
  }

  /** @internal */
  answerTo({ kind, name, key }: OpenCall): Answer | null {
    if (kind === "wait" && this.#signals.has(name)) return { to: "signal", payload: this.#signals.get(name) };
    const decision = kind === "approval" ? this.#approvals.get(name) : undefined;
    return decision ? { to: "approval", decision: { by: "stub", nth: key, ...decision } } : null;
  }
}
