// A handle on a run: read its state, wait for its result, signal or control it.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { Payload } from "../kernel/codec/payload.js";
import { decodeError, type RecordedError, type StoredError } from "../kernel/codec/recorded-error.js";
import { readResult } from "../kernel/codec/result-reference.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { HoldfastError } from "../kernel/error.js";
import type { EndedState } from "../kernel/run/run-state.js";
import type { World } from "../kernel/world.js";
import { ANSWERED } from "../replay/approval-call.js";
import { waitKey } from "../replay/recorded.js";
import type { Signal } from "../replay/signal.js";
import type { NewMessage, SendAnswer } from "../store/contract/inbox/inbox.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { RetryAnswer } from "../store/contract/run/retry.js";
import type { ResumeAnswer, RunGlance, RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";
import type { Transaction } from "../store/contract/transaction.js";
import { type Asked, askToCancel, askToPause, type CancelOutcome, type Paused } from "./ask-to-stop.js";
import { lacksCapableNode, liveBuilds } from "./capable-node.js";
import { expectAsked } from "./expect-asked.js";
import type { RunEvent } from "./run-event.js";
import { type TaskStatus, taskNamed, tasksOfRun } from "./run-tasks.js";
import { type RunWatcher, runWatcher } from "./run-watcher.js";
import { type WatchOptions, watchRun } from "./watch-run.js";

/** The run ended without a result, or is quarantined until a person decides. `cause` is the error it failed with. */
export class RunFailed extends HoldfastError {
  readonly code = "RUN_FAILED";
  /** The id of the run. */
  readonly runId: string;
  /** How the run ended, or that it is quarantined. */
  readonly state: EndedState | "quarantined";
  /** The error that the run failed with. */
  declare readonly cause: RecordedError | undefined;

  constructor(runId: string, state: EndedState | "quarantined", cause?: RecordedError) {
    super(
      `Run ${runId} ${state === "quarantined" ? "is" : "ended"} ${state}${cause ? `: ${cause.message}` : ""}.`,
      cause ? { cause } : {},
    );
    this.runId = runId;
    this.state = state;
  }
}

/** The run was cancelled; it has no result. */
export class RunCancelled extends HoldfastError {
  readonly code = "RUN_CANCELLED";
  /** The id of the run. */
  readonly runId: string;

  constructor(runId: string) {
    super(`Run ${runId} was cancelled.`);
    this.runId = runId;
  }
}

/** The run has ended: it takes no signals and cannot be cancelled. */
export class RunEnded extends HoldfastError {
  readonly code = "RUN_ENDED";

  constructor(runId: string, state: EndedState) {
    super(`Run ${runId} has already ended (${state}); nothing was changed.`);
  }
}

/** No run has this id; it may have been deleted by retention. */
export class RunUnknown extends HoldfastError {
  readonly code = "RUN_UNKNOWN";

  constructor(runId: string) {
    super(`There is no run ${runId}; it may have been pruned.`);
  }
}

/** The approval was decided before, or had already timed out. */
export class DecisionConflict extends HoldfastError {
  readonly code = "DECISION_CONFLICT";
  /** Who decided first; null for the timeout. */
  readonly by: string | null;

  constructor(approval: string, by: string | null, kind: string) {
    super(
      `Approval ${JSON.stringify(approval)} has already ${kind === "timeout" ? "timed out" : `been decided by ${by}`}.`,
    );
    this.by = by;
  }
}

/** A decision on an approval: the choice, who decides, and what comes with it. */
export interface DecisionOptions {
  /** One of the question's choices. @default `answered`, the choice of a question without choices */
  readonly choice?: string;
  /** Who decides; recorded in the run's journal. */
  readonly by: string;
  /** A remark for the run, as `decision.note`. */
  readonly note?: string;
  /** Structured data with the choice, as an edited plan: the run gets it as `decision.data`. */
  readonly data?: unknown;
  /** Which occurrence of this approval; in a graph, the visit of its node. @default 1 */
  readonly nth?: number | string;
  /** The hash of the question as it was shown; if the question differs, the decision fails with DecisionStale. */
  readonly shown?: string;
}

/** The wait timed out; the run itself continues. */
export class ResultTimeout extends HoldfastError {
  readonly code = "RESULT_TIMEOUT";

  /** `unserved`: the program of a run that waits and that no live node takes. */
  constructor(runId: string, ms: number, builds: readonly string[] | null = null, unserved: string | null = null) {
    const waits = `It waits for a node whose code fits its journal; the live builds that do not fit: ${builds?.join(", ")}.`;
    const alone = `It waits: no live node has the program ${JSON.stringify(unserved)}. Start a node with this program in its env.`;
    const next = builds ? waits : unserved === null ? "The run continues; wait again." : alone;
    super(`Run ${runId} had no result within ${ms} ms. ${next}`);
  }
}

/** A run as it is stored, and whether a live node can continue it. */
export interface RunStatus extends RunRecord {
  /**
   * The run waits, and no live node has its program in the version it is pinned to, with code that may fit. It resumes
   * when one starts.
   */
  readonly noCapableNode: boolean;
  /**
   * Builds of the live nodes that claim runs of its program, while the run waits for one that fits; otherwise empty.
   */
  readonly liveBuilds: readonly string[];
}

/** Options of `retry`. */
export interface RetryRunOptions {
  /** Who asks; recorded in the journal. @default `"client"` */
  readonly by?: string;
  /** The name of one task of a DAG. */
  readonly task?: string;
  /** With `task`: also all tasks that need it, and what needs those. */
  readonly after?: boolean;
}

/** A DAG has at most 500; a fan-out may have more. */
const MOST_TASKS = 1000;

/** Options of everything that is sent to a run. */
export interface SendOptions {
  /** Your own transaction: the message is sent when you commit. */
  readonly tx?: Transaction;
}

/** A handle on a run: read its state, wait for its result, signal it and control it, from any process. */
export class RunHandle<Out> {
  /** The id of the run. */
  readonly id: string;
  readonly #store: Store;
  readonly #codecs: Codecs;
  readonly #world: World;
  readonly #watcher: RunWatcher;

  constructor(id: string, store: Store, codecs: Codecs, world: World) {
    this.id = id;
    this.#store = store;
    this.#codecs = codecs;
    this.#world = world;
    this.#watcher = runWatcher(store, world);
  }

  /** Reads the run: its state, holder, attempts and times. */
  async status(): Promise<RunStatus> {
    const record = await this.#record();
    const waits = record.state === "waiting" || record.misfit !== null;
    const nodes = waits ? await this.#store.nodes.list({ env: record.group.env }) : [];
    const builds = record.misfit === null ? [] : liveBuilds(record, nodes);
    return { ...record, noCapableNode: lacksCapableNode(record, nodes), liveBuilds: builds };
  }

  /**
   * Yields the run's events, from the start or from a cursor, whichever process works on it. Finishes when the run has
   * ended.
   */
  async *watch(options: WatchOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    const parts = { store: this.#store, codecs: this.#codecs, watcher: this.#watcher };
    if ((yield* watchRun(this.id, parts, options)) === "unknown") throw new RunUnknown(this.id);
  }

  /** The value that the run last gave to `ctx.set(name, …)`; undefined: none yet. Reads one row, in any process. */
  async get<T = unknown>(name: string): Promise<T | undefined> {
    const entry = await this.#store.journal.lastSet(this.id, name);
    if (entry === null) await this.#record();
    return entry?.payload ? (this.#codecs.decode(entry.payload) as T) : undefined;
  }

  /** Waits for the run's end, whichever node works on it; also while the run waits for a node whose code fits. */
  async result(options: { readonly timeout?: Duration } = {}): Promise<Out> {
    const timeoutMs = options.timeout === undefined ? Number.POSITIVE_INFINITY : toMs(options.timeout, "timeout");
    const ending = await this.#watcher.untilEnded(this.id, timeoutMs);
    if (ending === null) throw new RunUnknown(this.id);
    if ("timedOut" in ending)
      throw new ResultTimeout(this.id, timeoutMs, ending.misfits, await this.#unservedProgram());
    return this.#resultOf(ending);
  }

  /** For people: when it cannot be read, the timeout is reported without it. */
  async #unservedProgram(): Promise<string | null> {
    const { noCapableNode, group } = await this.status().catch(() => ({ noCapableNode: false, group: null }));
    return noCapableNode ? group!.program : null;
  }

  /** Sends a signal to the run. It is stored, and kept until the run waits for it. */
  async signal<T>(signal: Signal<T>, ...[payload, options]: SignalArguments<T>): Promise<void> {
    const messageId = this.#world.token();
    const message = {
      runId: this.id,
      key: `signal:${options?.id ?? messageId}`,
      messageId,
      kind: "signal" as const,
      name: signal.name,
      payload: this.#codecs.encode(payload, `payload of signal ${JSON.stringify(signal.name)}`),
      sender: null,
    };
    await this.#send(message, options);
  }

  /** Decides the approval of that name. Only the first decision counts; a later one fails and names who was first. */
  async decide(approval: string, decision: DecisionOptions, options: SendOptions = {}): Promise<void> {
    const { choice = ANSWERED, by, note = null, nth = 1, shown, data } = decision;
    // A run that your own transaction has just started is not visible yet: it cannot have asked anything.
    const record = await this.#store.runs.get(this.id);
    await expectAsked(this.#store, this.#codecs, record, { approval, nth: String(nth), choice, shown });
    const message = {
      runId: this.id,
      key: waitKey(approval, String(nth), record?.baseSeq ?? 0),
      messageId: this.#world.token(),
      kind: "decision" as const,
      name: approval,
      payload: this.#codecs.encode({ choice, by, note, ...(data !== undefined && { data }) }, "decision"),
      sender: by,
    };
    const answer = await this.#send(message, options);
    if (answer.outcome === "already") throw new DecisionConflict(approval, answer.by.sender, answer.by.kind);
  }

  /** Ends the run and its tasks. Resolves when nothing more of it begins; see `acknowledged` for the exception. */
  async cancel(options: { readonly by?: string; readonly reason?: string } = {}): Promise<CancelOutcome> {
    const answer = await askToCancel(this.#asked(options.by), options.reason);
    this.#watcher.wake(this.id);
    return answer;
  }

  /**
   * Stops the run and its tasks until it is resumed. Resolves when nothing more of it begins; a running step is aborted
   * and runs again after the resume.
   */
  pause(options: { readonly by?: string } = {}): Promise<Paused> {
    return askToPause(this.#asked(options.by));
  }

  #asked(by = "client"): Asked {
    return { store: this.#store, world: this.#world, runId: this.id, by };
  }

  /** Continues a paused run and its tasks. */
  resume(options: { readonly by?: string } = {}): Promise<ResumeAnswer> {
    return this.#store.runs.resume(this.id, { by: options.by ?? "client" });
  }

  /**
   * Retries the run where it failed; of a DAG, the tasks that did not succeed and all that saw it. With `task`, only that task
   * of an ended DAG and what was skipped behind it, also when it succeeded; `after`: with all tasks behind it.
   */
  async retry(options: RetryRunOptions = {}): Promise<RetryAnswer> {
    const { by = "client", task, after = false } = options;
    const named = task === undefined ? {} : { tasks: [taskNamed(this.id, await this.#entries(), task)], after };
    const call = { by, callId: this.#world.token(), fromStart: false, ...named };
    const [answer] = await this.#store.runs.retry([this.id], call);
    return answer!;
  }

  /** The tasks of a DAG, or the items of a fan-out, in the order in which they were started. */
  async tasks(options: { readonly limit?: number } = {}): Promise<readonly TaskStatus[]> {
    return tasksOfRun(this.#store, this.#codecs, await this.#entries(), { limit: options.limit ?? MOST_TASKS });
  }

  async #entries(): Promise<readonly JournalEntry[]> {
    const page = await this.#store.journal.read(this.id);
    if (!page) throw new RunUnknown(this.id);
    return page.entries;
  }

  async #record(): Promise<RunRecord> {
    const record = await this.#store.runs.get(this.id);
    if (!record) throw new RunUnknown(this.id);
    return record;
  }

  async #send(message: NewMessage, { tx }: SendOptions = {}): Promise<SendAnswer> {
    const [answer] = await this.#store.inbox.send([message], tx ? { tx } : {});
    if (answer?.outcome === "refused") throw answer.error;
    if (answer?.outcome === "unknown") throw new RunUnknown(this.id);
    if (answer?.outcome === "ended") throw (await this.#conflict(message)) ?? new RunEnded(this.id, answer.state);
    return answer!;
  }

  /** A first decision may end the run at once; a later one then finds in the journal who was first. */
  async #conflict({ kind, name, key }: NewMessage): Promise<DecisionConflict | null> {
    if (kind !== "decision") return null;
    const entries = (await this.#store.journal.read(this.id))?.entries ?? [];
    const taken = entries.find((entry) => entry.kind === "take" && entry.key === key);
    if (!taken) return null;
    // A timeout has no payload.
    if (!taken.payload) return new DecisionConflict(name, null, "timeout");
    return new DecisionConflict(name, (this.#codecs.decode(taken.payload) as { by: string }).by, "decision");
  }

  async #ends(runIds: readonly string[]): Promise<readonly (Payload | null)[]> {
    const peeked = await this.#store.journal.peek(runIds.map((runId) => ({ runId, what: "end" })));
    return peeked.map((one) => one?.entry?.payload ?? null);
  }

  async #resultOf({ state, seq, end }: RunGlance): Promise<Out> {
    // An ended run without its last entry: reading the journal throws the actual problem.
    const entry = end ?? (await this.#store.journal.read(this.id, { after: seq - 1 }))?.entries.at(-1);
    const payload = entry?.payload;
    const value = payload ? await readResult(payload, this.#codecs, (ids) => this.#ends(ids)) : undefined;
    if (state === "completed") return value as Out;
    if (state === "cancelled") throw new RunCancelled(this.id);
    const stored = value as Partial<StoredError> | null | undefined;
    throw new RunFailed(
      this.id,
      state as EndedState,
      typeof stored?.message === "string" ? decodeError(stored as StoredError) : undefined,
    );
  }
}

export type SignalArguments<T> = undefined extends T
  ? [payload?: T, options?: SignalOptions]
  : [payload: T, options?: SignalOptions];

/** Options of `signal`. */
export interface SignalOptions extends SendOptions {
  /**
   * The same id is accepted once per generation, and for at least an hour. @default each call is a message of its own
   */
  readonly id?: string;
}
