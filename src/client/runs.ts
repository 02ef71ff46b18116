// Starts and looks up runs; used by nodes and clients. It never claims anything.

import type { ClientParts } from "../engine/node-parts.js";
import type { StartGate } from "../engine/start-gate.js";
import { isFork } from "../graph/fork-input.js";
import { isStart } from "../graph/start-input.js";
import { payloadHash } from "../kernel/codec/canonical.js";
import { withTrace } from "../kernel/codec/trace-context.js";
import { toMs } from "../kernel/duration.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import { type LimitRule, newLimits } from "../kernel/limit-rule.js";
import { dedupeKey } from "../kernel/name.js";
import { perOf, programScope } from "../kernel/per.js";
import { attributesOf } from "../kernel/run/attribute.js";
import { isSameGroup, type NewKey, type NewLimit, type NewRun, type RunGroup } from "../kernel/run/new-run.js";
import { parseInput } from "../program/parse-input.js";
import type { StartOptions } from "../program/start-options.js";
import type { Startable } from "../program/startable.js";
import type { InsertAnswer } from "../store/contract/run/runs.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { Tracing } from "../telemetry/tracing.js";
import { lifetimeOf } from "../trigger/event.js";
import { RunHandle } from "./run-handle.js";
import type { ServedCheck } from "./served-check.js";

export type { StartArguments, StartOptions } from "../program/start-options.js";

/** One of many starts. */
export interface StartItem<In> extends Omit<StartOptions, "tx"> {
  /** The input of the run. */
  readonly input: In;
}

/** The outcome of one of many starts. */
export type StartOutcome<Out> =
  | { readonly outcome: "started"; readonly run: RunHandle<Out> }
  /** A run with the same key and input existed before. */
  | { readonly outcome: "existing"; readonly run: RunHandle<Out> }
  /** `run` has the key, but was started with other input. */
  | { readonly outcome: "conflict"; readonly run: RunHandle<Out>; readonly error: KeyConflict }
  /** The item cannot be stored; the other items are not affected. */
  | { readonly outcome: "refused"; readonly error: HoldfastError };

/** Another run has this key, with other input. */
export class KeyConflict extends HoldfastError {
  readonly code = "KEY_CONFLICT";
  /** The run that has the key. */
  readonly runId: string;

  constructor(key: string, runId: string) {
    super(
      `The key ${JSON.stringify(key)} belongs to run ${runId}, which was started with other input. Use another key.`,
    );
    this.runId = runId;
  }
}

/** What one kind of program adds to a start. */
export interface StartExtras {
  /** Around the parsed input: limits and keys are those of the input itself. */
  readonly wrap?: (input: unknown) => unknown;
  /** Of this start, before those of the program, which are wider. */
  readonly limits?: readonly NewLimit[];
}

export interface RunsOptions extends ClientParts {
  readonly crashLimit: number;
  /** Set on a node: whether it starts runs at all, and for which stacks. */
  readonly gate?: StartGate;
  /** Reports starts that no live node takes. */
  readonly served?: ServedCheck;
  readonly tracing?: Tracing;
}

export class Runs {
  readonly #options: RunsOptions;
  #lastGroup: RunGroup | null = null;

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  start<Out>(
    program: Startable,
    input: unknown,
    options: StartOptions,
    extras: StartExtras = {},
  ): Promise<RunHandle<Out>> {
    return this.#traced(program, () => this.#start<Out>(program, input, options, extras));
  }

  #traced<T>({ name: program, queue }: Startable, work: () => Promise<T>): Promise<T> {
    const { tracing, env } = this.#options;
    return tracing ? tracing.start({ program, queue, env }, work) : work();
  }

  async #start<Out>(
    program: Startable,
    input: unknown,
    options: StartOptions,
    extras: StartExtras,
  ): Promise<RunHandle<Out>> {
    const run = this.#stamped(this.newRun(program, await parseInput(program, input), options, extras));
    const [answer] = await this.#insert([run], options.tx);
    if (answer?.outcome === "refused") throw answer.error;
    if (answer?.outcome === "conflict") throw new KeyConflict(options.key!, answer.runId);
    return this.run<Out>(answer!.runId);
  }

  /** One call to the store. An item that cannot be stored gets its own error; the others are started. */
  startMany<Out>(
    program: Startable,
    items: readonly StartItem<unknown>[],
    tx?: Transaction,
    limits: readonly NewLimit[] = [],
  ): Promise<StartOutcome<Out>[]> {
    return this.#traced(program, () => this.#startMany<Out>(program, items, tx, limits));
  }

  async #startMany<Out>(
    program: Startable,
    items: readonly StartItem<unknown>[],
    tx: Transaction | undefined,
    limits: readonly NewLimit[],
  ): Promise<StartOutcome<Out>[]> {
    const made = await Promise.all(items.map((item) => this.#tryNewRun(program, item, limits)));
    const good = made.filter((run): run is NewRun => !(run instanceof HoldfastError));
    const answers = good.length === 0 ? [] : await this.#insert(good, tx);
    const answered = new Map(good.map((run, i) => [run, answers[i]!]));
    return made.map((run, i): StartOutcome<Out> => {
      if (run instanceof HoldfastError) return { outcome: "refused", error: run };
      return this.#outcomeOf(answered.get(run)!, items[i]!.key);
    });
  }

  run<Out = unknown>(id: string): RunHandle<Out> {
    const { store, codecs, world } = this.#options;
    return new RunHandle<Out>(id, store, codecs, world);
  }

  /** The input has been through the program's schema. */
  newRun(
    startable: Omit<Startable, "schema">,
    input: unknown,
    options: StartOptions,
    { wrap = (given) => given, limits: extra = [] }: StartExtras = {},
  ): NewRun {
    // Without types: a client starts by name, a node by the program itself.
    if (typeof startable?.name !== "string" || !Array.isArray(startable.limits))
      throw new InvalidInput("program", "must be a program, such as workflow(…); createClient starts programs by name");
    if (isFork(input)) throw new InvalidInput('input["~fork"]', "only `graphs.fork` copies the state of another run");
    if (isStart(input)) throw new InvalidInput('input["~start"]', "only `graphs.start` and `graphs.continue` make it");
    const { name: program, queue, version, limits, recovery, stacks } = startable;
    const { world, codecs, env, crashLimit, tracing } = this.#options;
    return {
      id: world.id(),
      group: this.#shared({ env, stack: stackOf(stacks, this.#options.stack), queue, program, version }),
      priority: options.priority ?? 0,
      delayMs: options.delay === undefined ? 0 : toMs(options.delay, "delay"),
      crashLimit,
      input: withTrace(codecs.encode(wrap(input), "input"), tracing?.context() ?? null),
      ...(recovery && { recovery }),
      ...(limits.length + extra.length > 0 && { limits: [...extra, ...newLimits(limits, queue, input)] }),
      ...(options.attributes !== undefined && { attributes: attributesOf(options.attributes) }),
      ...(options.key !== undefined && { key: newKey(program, options, input, this.#options.stack) }),
    };
  }

  /** The runs of a batch share one object: the store checks, numbers and looks up their group once. (Without: 3 of 27 µs per run.) */
  #shared(group: RunGroup): RunGroup {
    const last = this.#lastGroup;
    if (last && isSameGroup(last, group)) return last;
    this.#lastGroup = group;
    return group;
  }

  limitsOf({ name: program, queue, version }: Omit<Startable, "schema" | "limits">): Promise<readonly LimitRule[]> {
    const { store, env, stack } = this.#options;
    return store.runs.limitsOf({ env, stack, queue, program, version });
  }

  /**
   * Applies the node's start gate: throws when this node must not start runs, and marks a run that other nodes are to
   * execute.
   */
  #stamped(run: NewRun): NewRun {
    const { gate } = this.#options;
    return gate ? { ...run, ...gate.stamp(run.group.program) } : run;
  }

  /** Only starts requested by a caller go through here; a run starts its children in its own commits. */
  async insert(run: NewRun): Promise<InsertAnswer> {
    return (await this.#insert([this.#stamped(run)], undefined))[0]!;
  }

  async #insert(runs: readonly NewRun[], tx: Transaction | undefined): Promise<readonly InsertAnswer[]> {
    const { store, gate, served } = this.#options;
    const answers = await store.runs.insert(runs, tx ? { tx } : {});
    for (const [i, { outcome, runId }] of answers.entries()) {
      if (outcome === "inserted") served?.started(runs[i]!);
      if (outcome === "inserted") gate?.started(runId, runs[i]!.group.program);
      const { key, group } = runs[i]!;
      if (outcome === "existing" && key) gate?.existed(runId, group.program, key.key);
    }
    return answers;
  }

  /** `limits`: of this call, before those of the program, which are wider. */
  async #tryNewRun(
    program: Startable,
    item: StartItem<unknown>,
    limits: readonly NewLimit[],
  ): Promise<NewRun | HoldfastError> {
    try {
      const run = this.#stamped(this.newRun(program, await parseInput(program, item.input), item));
      return limits.length > 0 ? { ...run, limits: [...limits, ...(run.limits ?? [])] } : run;
    } catch (error) {
      if (error instanceof HoldfastError) return error;
      throw error;
    }
  }

  #outcomeOf<Out>(answer: InsertAnswer, key: string | undefined): StartOutcome<Out> {
    if (answer.outcome === "refused") return { outcome: "refused", error: answer.error };
    const run = this.run<Out>(answer.runId);
    if (answer.outcome === "conflict") return { outcome: "conflict", run, error: new KeyConflict(key!, run.id) };
    return { outcome: answer.outcome === "inserted" ? "started" : "existing", run };
  }
}

function newKey(program: string, { key, once, per }: StartOptions, input: unknown, stack: string | null): NewKey {
  const payload = payloadHash(input, "input");
  const lifetime = lifetimeOf(once);
  const scope = programScope(program, perOf(per), stack);
  return { scope, key: dedupeKey(key, "key"), payloadHash: payload, lifetime, onMismatch: "conflict" };
}

/** For a program that this stack's nodes do not serve: any stack that serves it may claim the run. */
function stackOf(stacks: readonly string[] | undefined, own: string | null): string | null {
  return own === null || stacks === undefined || stacks.includes(own) ? own : null;
}
