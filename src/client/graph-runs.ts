// Operations on graph runs: position, history, fork, rewind, diff.

import type { ForkInput } from "../graph/fork-input.js";
import type { AnyGraph, Graph, NodeOf, StateOf } from "../graph/graph-value.js";
import { PositionUnknown } from "../graph/needs-people.js";
import { stateAt } from "../graph/state-at.js";
import { STATE_UPDATE, type StateUpdate } from "../graph/state-update.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import { newLimits } from "../kernel/limit-rule.js";
import { nodeName } from "../kernel/name.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { RunState } from "../kernel/run/run-state.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import { diffHistories, type RunDiff } from "./diff-histories.js";
import { findVisit, type GraphHistory, graphPosition, historyOf, type Visit } from "./graph-history.js";
import { RunEnded, type RunHandle, RunUnknown } from "./run-handle.js";
import type { Runs, RunsOptions } from "./runs.js";

/** Only a failed run can be rewound. */
export class RewindRefused extends HoldfastError {
  readonly code = "REWIND_REFUSED";
  readonly state: RunState;

  constructor(runId: string, state: RunState) {
    super(`Run ${runId} is ${state}; only failed, dead and quarantined runs can be rewound. Fork it instead.`);
    this.state = state;
  }
}

/** A node's name means its last visit; `plan:2` means a specific one. */
type Where<N extends string> = N | `${N}:${number}`;

export interface ForkOptions<S = object, N extends string = string> {
  /** The node at which the new run begins. */
  readonly from: Where<N>;
  /** State fields to override. */
  readonly state?: Partial<S>;
  /** Who asks; recorded in the new run's journal. Default "client". */
  readonly by?: string;
  readonly priority?: number;
}

export interface RewindOptions<S = object, N extends string = string> {
  /** The node at which the run resumes. */
  readonly to: Where<N>;
  /** State fields to override. */
  readonly state?: Partial<S>;
  /** Who asks and why; both are recorded in the run's journal. */
  readonly by: string;
  readonly why: string;
}

export interface GraphPosition {
  /** Like `plan:2`, `end`, or null before the run has begun. */
  readonly position: string | null;
  readonly state: RunState;
}

export interface GraphStateOf<S> {
  /** Like `plan:2`, or `end`. */
  readonly position: string;
  readonly state: S;
  /** The states of subgraphs in progress, by path and visits: `research:1`. */
  readonly inner: Readonly<Record<string, unknown>>;
}

export class GraphRuns {
  readonly #options: RunsOptions;
  readonly #runs: Runs;

  constructor(options: RunsOptions, runs: Runs) {
    this.#options = options;
    this.#runs = runs;
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
    const at = isVisit ? findVisit(historyOf(page.entries, codecs), runId, wanted).position : wanted;
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
    const { store, codecs, world } = this.#options;
    expectRunOf(graph, await this.#record(runId));
    const by = nodeName(options.by ?? "client", "by");
    const messageId = world.token();
    const payload = codecs.encode({ update: update as StateUpdate["update"], by } satisfies StateUpdate, "update");
    const message = { runId, key: `signal:${messageId}`, messageId, name: STATE_UPDATE, payload, sender: by };
    const [answer] = await store.inbox.send([{ ...message, kind: "signal" }]);
    if (answer?.outcome === "refused") throw answer.error;
    if (answer?.outcome === "unknown") throw new RunUnknown(runId);
    if (answer?.outcome === "ended") throw new RunEnded(runId, answer.state);
  }

  /** The visits in order, starting with those inherited from the run it was forked from. */
  async history(runId: string): Promise<readonly Visit[]> {
    const { visits, forkedFrom } = await this.#history(runId);
    if (!forkedFrom) return visits;
    if (!(await this.#options.store.runs.get(forkedFrom.run))) return visits; // The run it was forked from was pruned.
    const inherited = await this.history(forkedFrom.run);
    const upTo = inherited.findIndex(({ position }) => position === forkedFrom.from);
    return [...inherited.slice(0, upTo), ...visits];
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
    const history = await this.#history(runId);
    const visit = findVisit(history, runId, from);
    const input: ForkInput = {
      "~fork": {
        run: runId,
        from: visit.position,
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

  /** Rewinds a failed run to a node it visited: the same run resumes there, with new visits. */
  async rewind<G extends AnyGraph>(
    graph: G,
    runId: string,
    options: RewindOptions<StateOf<G>, NodeOf<G>>,
  ): Promise<RunHandle<OutputOf<G>>> {
    expectRunOf(graph, await this.#record(runId));
    return this.rewindRun(runId, options as RewindOptions);
  }

  async rewindRun<Out>(runId: string, { to, state, by, why }: RewindOptions): Promise<RunHandle<Out>> {
    const { store, codecs, world } = this.#options;
    await this.#record(runId);
    const visit = findVisit(await this.#history(runId), runId, to);
    const note = codecs.encode({ rewind: { to: visit.position, state: state ?? null, why } }, "state");
    const [answer] = await store.runs.retry([runId], { by, callId: world.token(), fromStart: false, note });
    if (answer?.outcome === "not retryable") throw new RewindRefused(runId, answer.state);
    if (answer?.outcome === "unknown") throw new RunUnknown(runId);
    return this.#runs.run<Out>(runId);
  }

  /** Shows where two runs took the same path, where they diverged, and what their nodes changed. */
  async diff(leftId: string, rightId: string): Promise<RunDiff> {
    return diffHistories(await this.history(leftId), await this.history(rightId));
  }

  async #history(runId: string): Promise<GraphHistory> {
    const { store, codecs } = this.#options;
    const page = await store.journal.read(runId);
    if (!page) throw new RunUnknown(runId);
    return historyOf(page.entries, codecs);
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

type OutputOf<G> = G extends Graph<string, infer _S, infer _N, infer _In, infer Out, infer _P> ? Out : never;
