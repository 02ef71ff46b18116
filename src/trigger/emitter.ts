// Emits events: finds the triggers each event matches, and inserts their runs. It never claims anything.

import type { ClientParts } from "../engine/node-parts.js";
import type { StartGate } from "../engine/start-gate.js";
import { HoldfastError } from "../kernel/error.js";
import { lane } from "../kernel/lane.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { DebounceAnswer, Matched, NewDebounced } from "../store/contract/event/events.js";
import type { InsertAnswer } from "../store/contract/run/runs.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { Telemetry } from "../telemetry/bus.js";
import { judge } from "./breaker-gate.js";
import { type Answer, type Emitted, emitted, startedBy } from "./emitted.js";
import type { EventType } from "./event.js";
import { type Occurrence, occurrenceOf } from "./occurrence.js";
import { type Judged, type PlannedRun, plannedRunsOf } from "./planned-run.js";
import type { TriggerEvents } from "./trigger-events.js";

/** Options of `emit`. */
export interface EmitOptions {
  /** Identifies the event: emitting it again starts nothing. @default a hash of the payload */
  readonly id?: string;
  /** Your own transaction: the runs exist when you commit. */
  readonly tx?: Transaction;
}

interface EmitterOptions extends ClientParts {
  readonly telemetry?: Telemetry<TriggerEvents>;
  /** Set on a node: whether it starts runs at all, and for which stacks. */
  readonly gate?: StartGate;
}

/**
 * The runs one occurrence is to start, with the circuit breakers' verdicts; or what it has started, if one statement
 * was enough.
 */
type Accepted = { readonly planned: readonly Judged[] } | Emitted;

type InTransaction = { readonly tx?: Transaction };

/**
 * With ten runs each, a statement has a thousand rows; more gain nothing. Two batches in flight use two of the server's
 * cores.
 */
const AT_ONCE = { maxRows: 100, maxBytes: 4 * 1024 * 1024, inFlight: 2 };

export class Emitter {
  readonly #options: EmitterOptions;
  /** Settles when everything emitted before has been accepted. */
  #earlier: Promise<unknown> = Promise.resolve();
  readonly #lane: (occurrence: Occurrence) => Promise<Accepted | HoldfastError>;

  constructor(options: EmitterOptions) {
    this.#options = options;
    this.#lane = lane<Occurrence, Accepted | HoldfastError>((occurrences) => this.#accept(occurrences), {
      ...AT_ONCE,
      world: options.world,
      sizeOf: ({ plain, input }) => ({ rows: 1, bytes: plain.length + input.data.length }),
    });
  }

  async emit<Name extends string, Payload extends object>(
    type: EventType<Name, Payload>,
    payload: NoInfer<Payload>,
    { id, tx }: EmitOptions = {},
  ): Promise<Emitted> {
    const { gate, telemetry, world, codecs, env, stack } = this.#options;
    const occurrence = occurrenceOf(type.name, payload, id, { id: world.id(), env, stack, codecs });
    if (gate?.isClosed) {
      telemetry?.emit("event.ignored", { event: type.name });
      return { runs: [] };
    }
    const inTransaction = tx ? { tx } : {};
    // Concurrent single calls share a batch; a call in a transaction stays in that transaction.
    const accepted = tx ? (await this.#match([occurrence], inTransaction))[0]! : await this.#inOrder(occurrence);
    const answer = "planned" in accepted ? await this.#insert(accepted.planned, inTransaction) : accepted;
    if (answer instanceof HoldfastError) throw answer;
    this.#report(occurrence, answer);
    for (const { runId, program, outcome } of answer.runs) if (outcome === "started") gate?.started(runId, program);
    return answer;
  }

  /**
   * Occurrences that need a second step are processed in call order: of a subject's events, the last emitted is the
   * last stored.
   */
  async #inOrder(occurrence: Occurrence): Promise<Accepted | HoldfastError> {
    const earlier = this.#earlier;
    const accepting = this.#lane(occurrence);
    this.#earlier = Promise.allSettled([earlier, accepting]);
    const accepted = await accepting;
    if ("planned" in accepted) await earlier;
    return accepted;
  }

  /** One statement does everything for a run that is only a row: one round trip, and the event is sent once. */
  async #accept(occurrences: readonly Occurrence[]): Promise<(Accepted | HoldfastError)[]> {
    const { store, gate } = this.#options;
    if (gate?.defers) return this.#match(occurrences, {});
    const answers = await store.events.start(occurrences);
    const left = answers.flatMap((answer, i) =>
      answer.outcome === "left" ? { occurrence: occurrences[i]!, matched: answer.matched } : [],
    );
    const judged = (await this.#judge(left, {})).values();
    return answers.map((answer) => {
      if (answer.outcome === "refused") return answer.error;
      return answer.outcome === "left" ? judged.next().value! : startedBy(answer);
    });
  }

  async #match(
    occurrences: readonly Occurrence[],
    inTransaction: InTransaction,
  ): Promise<(Accepted | HoldfastError)[]> {
    const matched = await this.#options.store.events.match(occurrences, inTransaction);
    const pairs = occurrences.map((occurrence, i) => ({ occurrence, matched: matched[i]! }));
    return this.#judge(pairs, inTransaction);
  }

  async #judge(
    pairs: readonly { readonly occurrence: Occurrence; readonly matched: readonly Matched[] }[],
    inTransaction: InTransaction,
  ): Promise<(Accepted | HoldfastError)[]> {
    // Subscriptions apply to all nodes: a program that is disabled here is executed by other nodes.
    const { gate } = this.#options;
    const stamp = (program: string) => (gate?.isDisabled(program) === false ? gate.stamp(program) : {});
    const plans = pairs.map(({ occurrence, matched }) => plannedRunsOf(occurrence, matched, stamp));
    const passed = await this.#pass(
      plans.flatMap((plan) => (plan instanceof HoldfastError ? [] : plan)),
      inTransaction,
    );
    return plans.map((plan) =>
      plan instanceof HoldfastError ? plan : { planned: plan.map((run) => ({ ...run, passes: passed.has(run) })) },
    );
  }

  /** The runs that no circuit breaker rejects. */
  async #pass(planned: readonly PlannedRun[], inTransaction: InTransaction): Promise<ReadonlySet<PlannedRun>> {
    const { store, env, telemetry } = this.#options;
    const guarded = planned.map(({ run, breaker }) => ({ env, program: run.group.program, runId: run.id, breaker }));
    const verdicts = await judge(store.breakers, guarded, inTransaction);
    const passed = new Set<PlannedRun>();
    for (const [i, { outcome, probe }] of verdicts.entries()) {
      const { program, runId } = guarded[i]!;
      const tries = probe !== null && (await store.breakers.takeProbe(probe, inTransaction));
      if (tries) telemetry?.emit("breaker.half_opened", { program, runId });
      if (tries || outcome === "passes") passed.add(planned[i]!);
    }
    return passed;
  }

  /** The runs of one event are inserted in one call to the store, all or none. */
  async #insert(accepted: readonly Judged[], inTransaction: InTransaction): Promise<Emitted | HoldfastError> {
    const passed = accepted.filter(({ passes }) => passes);
    const plain = passed.filter(({ ticket }) => ticket === null);
    const debounced: NewDebounced[] = passed.flatMap(({ run, ticket }) => (ticket ? [{ run, ticket }] : []));
    const runs = plain.map(({ run }) => run);
    const { inserted, gathered } = await this.#send(runs, debounced, inTransaction);
    const answers = new Map<NewRun, Answer>(debounced.map(({ run }, i) => [run, gathered[i]!]));
    for (const [i, answer] of inserted.entries()) answers.set(runs[i]!, answer);
    // Within a transaction, nothing is admitted before the commit.
    if (!inTransaction.tx) await this.#findSkipped(runs, answers);
    return emitted(accepted, answers);
  }

  /** Runs that gather go with the others of their event; in a caller's transaction, that is what holds them together. */
  async #send(
    runs: readonly NewRun[],
    debounced: readonly NewDebounced[],
    inTransaction: InTransaction,
  ): Promise<{ readonly inserted: readonly InsertAnswer[]; readonly gathered: readonly DebounceAnswer[] }> {
    const { store } = this.#options;
    if (inTransaction.tx || debounced.length === 0) {
      const gathered = debounced.length === 0 ? [] : await store.events.debounce(debounced, inTransaction);
      return { gathered, inserted: runs.length === 0 ? [] : await store.runs.insert(runs, inTransaction) };
    }
    const [answer] = await store.events.accept([{ runs, debounced }]);
    if (answer!.outcome === "refused") throw answer!.error;
    return { inserted: answer!.runs, gathered: answer!.debounced };
  }

  /** An insert admits what it has put there: asked of those only that may not wait for a place. */
  async #findSkipped(runs: readonly NewRun[], answers: Map<NewRun, Answer>): Promise<void> {
    const doubtful = runs.filter(
      (run) => answers.get(run)?.outcome === "inserted" && run.limits?.some(({ overflow }) => overflow),
    );
    await Promise.all(
      doubtful.map(async (run) => {
        const record = await this.#options.store.runs.get(run.id);
        if (record?.state === "skipped") answers.set(run, { outcome: "skipped", runId: run.id });
      }),
    );
  }

  #report({ event, key }: Pick<Occurrence, "event" | "key">, { runs }: Emitted): void {
    const { telemetry } = this.#options;
    if (!telemetry) return;
    telemetry.emit("event.accepted", { event, runs: runs.filter(({ outcome }) => outcome === "started").length });
    for (const { runId, program, outcome } of runs) {
      if (outcome === "duplicate") telemetry.emit("event.deduplicated", { event, program, runId, key });
      if (outcome === "debounced") telemetry.emit("event.debounced", { event, program, runId });
      if (outcome === "rejected") telemetry.emit("event.rejected", { event, program });
    }
  }
}
