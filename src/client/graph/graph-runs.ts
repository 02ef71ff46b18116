// Operations on graph runs: position, history, fork, rewind, diff.

import { BREAKPOINTS, checkBreakpoints } from "../../graph/breakpoint.js";
import type { ForkInput } from "../../graph/fork-input.js";
import type { AnyGraph, Graph, NodeOf, StateOf } from "../../graph/graph-value.js";
import { PositionUnknown } from "../../graph/needs-people.js";
import { threadSpace } from "../../graph/node/spaces.js";
import type { Breakpoints, StartInput } from "../../graph/start-input.js";
import { stateAt } from "../../graph/state-at.js";
import { STATE_UPDATE, type StateUpdate } from "../../graph/state-update.js";
import { payloadHash } from "../../kernel/codec/canonical.js";
import { HoldfastError, InvalidInput } from "../../kernel/error.js";
import { newLimits } from "../../kernel/limit-rule.js";
import { dedupeKey, limitKey, nodeName } from "../../kernel/name.js";
import type { NewRun } from "../../kernel/run/new-run.js";
import type { RunState } from "../../kernel/run/run-state.js";
import type { StartOptions } from "../../program/start-options.js";
import type { Startable } from "../../program/startable.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import { RunEnded, type RunHandle, RunUnknown } from "../run-handle.js";
import type { Runs, RunsOptions } from "../runs.js";
import { snapshotBehindGap } from "./damaged-journal.js";
import { diffHistories, type RunDiff } from "./diff-histories.js";
import { findPosition, graphPosition, historyOf, type Visit } from "./graph-history.js";
import type {
  ForkOptions,
  GraphPosition,
  GraphStartOptions,
  GraphStateOf,
  RecoverOptions,
  RewindOptions,
  Thread,
  Where,
} from "./graph-run-options.js";
import { type ValueStore, valueStore } from "./kept-values.js";
import { readHistory, wholeHistory } from "./read-history.js";
import { type StreamEvent, type StreamMode, type StreamOptions, streamRun } from "./stream-run.js";

/** Only an ended, paused or quarantined run can be rewound, and no task of a DAG. */
export class RewindRefused extends HoldfastError {
  readonly code = "REWIND_REFUSED";
  /** The state of the run. */
  readonly state: RunState;

  constructor(runId: string, state: RunState, dag?: string) {
    const why = dag === undefined ? `is ${state}. Pause it first, or fork it` : `is a task of ${dag}. Fork it`;
    super(`Run ${runId} ${why}; only ended, paused and quarantined runs are rewound.`);
    this.state = state;
  }
}

/** Reads, forks, rewinds and compares runs of graphs. */
export class GraphRuns {
  readonly #options: RunsOptions;
  readonly #runs: Runs;
  /** Values by space and key that outlive the runs: those of `ctx.store`. */
  readonly store: ValueStore;

  constructor(options: RunsOptions, runs: Runs) {
    this.#options = options;
    this.#runs = runs;
    this.store = valueStore(options);
  }

  /** The run's current position. Pass it to `toMermaid`. */
  async position(runId: string): Promise<GraphPosition> {
    const record = await this.#record(runId);
    const { store, codecs } = this.#options;
    return { position: await graphPosition(store, codecs, record), state: record.state };
  }

  /** The state now, or when the run arrived at a visit: `at: "plan:2"`, or a node's name for its last visit. Needs the graph's code. */
  async state<G extends AnyGraph>(
    graph: G,
    runId: string,
    options: { readonly at?: Where<NodeOf<G>> | "end" } = {},
  ): Promise<GraphStateOf<StateOf<G>>> {
    const { store, codecs } = this.#options;
    expectRunOf(graph, await this.#record(runId));
    const page = await store.journal.read(runId);
    if (!page) throw new RunUnknown(runId);
    const wanted = options.at as string | undefined;
    const isVisit = wanted !== undefined && wanted !== "end";
    const at = isVisit ? findPosition(historyOf(page.entries, codecs), runId, wanted) : wanted;
    const found = stateAt(page, { runId, plan: graph.plan, codecs, at });
    if (!found) throw new PositionUnknown(runId, wanted ?? "its beginning");
    return found as GraphStateOf<StateOf<G>>;
  }

  /**
   * Updates the state of a live run by the graph's reducers, before its next node begins. A function in progress ends with the state it
   * began with; a gate that is open sees the update. An ended run is forked or rewound with another state instead.
   */
  async update<G extends AnyGraph>(
    graph: G,
    runId: string,
    update: Partial<StateOf<G>>,
    options: { readonly by?: string } = {},
  ): Promise<void> {
    expectRunOf(graph, await this.#record(runId));
    await this.updateRun(runId, update, options.by);
  }

  /** Updates without the graph's code: the run applies its reducers. */
  async updateRun(runId: string, update: object, by = "client"): Promise<void> {
    const fields = update as StateUpdate["update"];
    await this.#send(runId, STATE_UPDATE, { update: fields, by: nodeName(by, "by") } satisfies StateUpdate);
  }

  /** Starts a run that pauses at breakpoints; `run.resume()` lets it continue. */
  start<G extends AnyGraph>(
    graph: G,
    input: InputOf<G>,
    options: GraphStartOptions<G> = {},
  ): Promise<RunHandle<OutputOf<G>>> {
    if (options.breakpoints) checkBreakpoints(options.breakpoints, graph.plan);
    return this.startRun(graph, input, options);
  }

  /** Starts without the graph's code: an unknown node never stops the run. */
  startRun<Out>(
    graph: Startable,
    input: unknown,
    { breakpoints, ...options }: StartOptions & { readonly breakpoints?: Breakpoints } = {},
  ): Promise<RunHandle<Out>> {
    if (!breakpoints) return this.#runs.start(graph, input, options);
    const known = checkBreakpoints(breakpoints, null);
    const wrap = (given: unknown): StartInput => ({ "~start": { breakpoints: known }, input: given });
    return this.#runs.start(graph, input, options, { wrap });
  }

  /**
   * Starts the next run of a thread: it begins with the state that the last one ended with, and what `init` makes of the input is an
   * update of it. Runs of one thread are at work one at a time, in the order of their acceptance.
   */
  continue<G extends AnyGraph>(
    graph: G,
    thread: string,
    input: InputOf<G>,
    options: GraphStartOptions<G> = {},
  ): Promise<RunHandle<OutputOf<G>>> {
    if (options.breakpoints) checkBreakpoints(options.breakpoints, graph.plan);
    return this.continueRun(graph, thread, input, options);
  }

  /** Continues a thread without the graph's code. */
  continueRun<Out>(
    graph: Startable,
    thread: string,
    input: unknown,
    { breakpoints, ...options }: StartOptions & { readonly breakpoints?: Breakpoints } = {},
  ): Promise<RunHandle<Out>> {
    dedupeKey(thread, "thread");
    const start = { thread, ...(breakpoints && { breakpoints: checkBreakpoints(breakpoints, null) }) };
    const wrap = (given: unknown): StartInput => ({ "~start": start, input: given });
    const key = limitKey(`serial ${threadSpace(graph.name)} ${payloadHash(thread)}`, "thread");
    return this.#runs.start(graph, input, options, { wrap, limits: [{ kind: "serial", key, max: 1 }] });
  }

  /** The state with which the next run of a thread begins, and the run that left it; null: it has none yet. */
  async thread<G extends AnyGraph>(graph: G, thread: string): Promise<Thread<StateOf<G>> | null> {
    const { store, codecs, env } = this.#options;
    const kept = await store.kept.get(env, threadSpace(graph.name), thread);
    if (!kept) return null;
    return { ...(codecs.decode(kept.value) as Omit<Thread<StateOf<G>>, "at">), at: kept.at };
  }

  /** Forgets a thread: its next run begins with its input alone. */
  async forget(graph: AnyGraph, thread: string): Promise<void> {
    const { store, env } = this.#options;
    await store.kept.put([{ env, space: threadSpace(graph.name), key: thread, value: null, ttlMs: null }]);
  }

  /** Streams a run: updates, states, and what its nodes write. Ends with the run. */
  stream<G extends AnyGraph, Mode extends StreamMode>(
    graph: G,
    runId: string,
    options: StreamOptions<Mode>,
  ): AsyncGenerator<Extract<StreamEvent<StateOf<G>>, { readonly mode: Mode }>> {
    const events = streamRun(runId, { ...this.#options, plan: graph.plan }, options);
    return events as AsyncGenerator<Extract<StreamEvent<StateOf<G>>, { readonly mode: Mode }>>;
  }

  /** Streams without the graph's code: everything but states. */
  streamRun(runId: string, options: StreamOptions<Exclude<StreamMode, "state">>): AsyncGenerator<StreamEvent> {
    return streamRun(runId, { ...this.#options, plan: null }, options);
  }

  /** Replaces the breakpoints of a live run, from its next node on; none clears them. */
  async breakpoints<G extends AnyGraph>(
    graph: G,
    runId: string,
    breakpoints: Breakpoints<NodeOf<G>>,
    options: { readonly by?: string } = {},
  ): Promise<void> {
    expectRunOf(graph, await this.#record(runId));
    await this.breakRun(runId, checkBreakpoints(breakpoints, graph.plan), options.by);
  }

  /** Sets breakpoints without the graph's code: an unknown node never stops the run. */
  async breakRun(runId: string, breakpoints: Breakpoints, by = "client"): Promise<void> {
    await this.#send(runId, BREAKPOINTS, { ...checkBreakpoints(breakpoints, null), by: nodeName(by, "by") });
  }

  /** A message that the run takes in between two of its nodes. */
  async #send<T extends { readonly by: string }>(runId: string, name: string, value: T): Promise<void> {
    const { store, codecs, world } = this.#options;
    const messageId = world.token();
    const payload = codecs.encode(value, "message");
    const message = { runId, key: `signal:${messageId}`, messageId, name, payload, sender: value.by };
    const [answer] = await store.inbox.send([{ ...message, kind: "signal" }]);
    if (answer?.outcome === "refused") throw answer.error;
    if (answer?.outcome === "unknown") throw new RunUnknown(runId);
    if (answer?.outcome === "ended") throw new RunEnded(runId, answer.state);
  }

  /** The visits in order, starting with those inherited from the run it was forked from. */
  async history(runId: string): Promise<readonly Visit[]> {
    return (await wholeHistory(this.#options, runId)).visits;
  }

  /** Starts a new run at a node the old run visited, with the state it had there. The old run is unchanged. */
  fork<G extends AnyGraph>(
    graph: G,
    runId: string,
    options: ForkOptions<StateOf<G>, NodeOf<G>>,
  ): Promise<RunHandle<OutputOf<G>>> {
    return this.forkRun(runId, options as ForkOptions, graph);
  }

  /**
   * Forks without the graph's code; `limits` come from the graph, or from its nodes' declarations when there is no
   * code.
   */
  async forkRun<Out>(runId: string, options: ForkOptions, graph?: AnyGraph): Promise<RunHandle<Out>> {
    const { store, codecs, world } = this.#options;
    const { from, state, by = "client", priority } = options;
    const record = await this.#record(runId);
    if (graph) expectRunOf(graph, record);
    const history = await readHistory(this.#options, runId);
    const input: ForkInput = {
      "~fork": {
        run: runId,
        from: findPosition(history, runId, from),
        state: (state ?? null) as ForkInput["~fork"]["state"],
        by: nodeName(by, "by"),
      },
      input: history.input,
    };
    const limits = graph?.limits ?? (await store.runs.limitsOf(record.group));
    const run: NewRun = {
      id: world.id(),
      group: record.group,
      priority: priority ?? record.priority,
      delayMs: 0,
      crashLimit: record.crashLimit,
      input: codecs.encode(input, "state"),
      ...(limits.length > 0 && { limits: newLimits(limits, record.group.queue, history.input) }),
    };
    const [answer] = await store.runs.insert([run]);
    if (answer?.outcome === "refused") throw answer.error;
    return this.#runs.run<Out>(run.id);
  }

  /** Rewinds an ended or paused run to a node it visited: the same run resumes there, with new visits. */
  async rewind<G extends AnyGraph>(
    graph: G,
    runId: string,
    options: RewindOptions<StateOf<G>, NodeOf<G>>,
  ): Promise<RunHandle<OutputOf<G>>> {
    expectRunOf(graph, await this.#record(runId));
    return this.rewindRun(runId, options as RewindOptions);
  }

  /** As `rewind`, for a run whose graph is not at hand. */
  async rewindRun<Out>(runId: string, { to, state, by, why }: RewindOptions): Promise<RunHandle<Out>> {
    const { store, codecs, world } = this.#options;
    const record = await this.#record(runId);
    const position = findPosition(await readHistory(this.#options, runId), runId, to);
    const note = codecs.encode({ rewind: { to: position, state: state ?? null, why } }, "state");
    const call = { by, callId: world.token(), fromStart: false, note, rewinds: true };
    const [answer] = await store.runs.retry([runId], call);
    if (answer?.outcome === "task") throw new RewindRefused(runId, record.state, answer.of);
    if (answer?.outcome === "not retryable") throw new RewindRefused(runId, answer.state);
    if (answer?.outcome === "unknown") throw new RunUnknown(runId);
    return this.#runs.run<Out>(runId);
  }

  /**
   * Resumes a run whose journal lacks an entry from the last snapshot behind the gap: what the snapshot has counts, and nothing before it
   * is read again. Its history cannot be shown, forked or rewound any more.
   */
  async recover<Out = unknown>(runId: string, options: RecoverOptions): Promise<RunHandle<Out>> {
    const { store, codecs, world } = this.#options;
    await this.#record(runId);
    const from = await snapshotBehindGap(store, runId);
    const note = codecs.encode({ resume: { from }, why: options.why }, "why");
    const call = { by: nodeName(options.by, "by"), callId: world.token(), fromStart: false, note };
    const [answer] = await store.runs.retry([runId], call);
    if (answer?.outcome !== "retried") throw new RewindRefused(runId, (await this.#record(runId)).state);
    return this.#runs.run<Out>(runId);
  }

  /** Shows where two runs took the same path, where they diverged, and what their nodes changed. */
  async diff(leftId: string, rightId: string): Promise<RunDiff> {
    return diffHistories(await this.history(leftId), await this.history(rightId));
  }

  async #record(runId: string): Promise<RunRecord> {
    const record = await this.#options.store.runs.get(runId);
    if (!record) throw new RunUnknown(runId);
    return record;
  }
}

function expectRunOf({ name }: AnyGraph, { id, group }: RunRecord): void {
  if (group.program !== name)
    throw new InvalidInput(
      "runId",
      `run ${id} is a run of ${JSON.stringify(group.program)}, not of ${JSON.stringify(name)}`,
    );
}

type InputOf<G> = G extends Graph<string, infer _S, infer _N, infer In, infer _Out, infer _P> ? In : never;
type OutputOf<G> = G extends Graph<string, infer _S, infer _N, infer _In, infer Out, infer _P> ? Out : never;
