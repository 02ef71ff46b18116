// Emits events: finds who is to be started by each, and puts their runs there. It never claims anything.

import type { StartGate } from "../engine/start-gate.js";
import type { BreakerRule } from "../kernel/breaker-rule.js";
import { payloadHash } from "../kernel/canonical.js";
import type { Codecs } from "../kernel/codecs.js";
import { filterable } from "../kernel/contains.js";
import type { DebounceTicket } from "../kernel/debounce-ticket.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import { readKey } from "../kernel/input-path.js";
import { lane } from "../kernel/lane.js";
import { newLimits } from "../kernel/limit-rule.js";
import { dedupeKey } from "../kernel/name.js";
import type { NewKey, NewRun } from "../kernel/new-run.js";
import type { Payload } from "../kernel/payload.js";
import type { World } from "../kernel/world.js";
import type { Matched } from "../store/contract/events.js";
import type { Store } from "../store/contract/store.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { Telemetry } from "../telemetry/bus.js";
import { judge } from "./breaker-gate.js";
import type { EventType } from "./event.js";
import type { TriggerEvents } from "./events.js";

export interface EmitOptions {
  /** The event's own id: whoever emits it again starts nothing. Default: a hash of the payload. */
  readonly id?: string;
  /** Your own transaction: its runs are there when you commit. */
  readonly tx?: Transaction;
}

export interface Emitted {
  /** One for each trigger that the event is for, by program. */
  readonly runs: readonly EmittedRun[];
}

export type EmittedRun =
  /** `duplicate`: the same event had started it before. `debounced`: it begins when its subject is quiet. */
  | { readonly program: string; readonly runId: string; readonly outcome: "started" | "duplicate" | "debounced" }
  /** The circuit breaker of the program is open: nothing was started, and this event will not be. */
  | { readonly program: string; readonly runId: null; readonly outcome: "rejected" };

export interface EmitterOptions {
  readonly store: Store;
  readonly codecs: Codecs;
  readonly world: World;
  readonly env: string;
  readonly stack: string | null;
  readonly telemetry?: Telemetry<TriggerEvents>;
  /** Of a node: whether it starts anything, and for whom. */
  readonly gate?: StartGate;
}

/** An event that can be stored: everything about it that depends on nobody else. */
interface Occurrence {
  readonly event: string;
  readonly input: Payload;
  readonly value: object;
  /** What can be filtered on, as JSON. */
  readonly plain: string;
  readonly key: string;
  readonly hash: string;
}

/** A run that one occurrence is to start. */
interface Wish {
  readonly run: NewRun;
  /** Not null: it gathers. */
  readonly ticket: DebounceTicket | null;
  readonly breaker: BreakerRule | null;
}

/** What one occurrence is to start, with what the circuit breakers say. */
type Accepted = readonly (Wish & { readonly passes: boolean })[];

type InTransaction = { readonly tx?: Transaction };

const AT_ONCE = { maxRows: 500, maxBytes: 4 * 1024 * 1024 };

export class Emitter {
  readonly #options: EmitterOptions;
  readonly #lane: (occurrence: Occurrence) => Promise<Accepted | HoldfastError>;

  constructor(options: EmitterOptions) {
    this.#options = options;
    this.#lane = lane<Occurrence, Accepted | HoldfastError>((occurrences) => this.#accept(occurrences, {}), {
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
    const occurrence = this.#occurrence(type.name, payload, id);
    const { gate, telemetry } = this.#options;
    if (gate?.isClosed) {
      telemetry?.emit("event.ignored", { event: type.name });
      return { runs: [] };
    }
    const inTransaction = tx ? { tx } : {};
    // Single calls that come together leave together; one in a transaction goes with that. While their runs are inserted, the
    // next ones are matched; the lane answers in order, so that events are stored in the order they were emitted in.
    const accepted = tx ? (await this.#accept([occurrence], inTransaction))[0]! : await this.#lane(occurrence);
    const answer = accepted instanceof HoldfastError ? accepted : await this.#insert(accepted, inTransaction);
    if (answer instanceof HoldfastError) throw answer;
    this.#tell(type.name, answer);
    for (const { runId, program, outcome } of answer.runs) if (outcome === "started") gate?.started(runId, program);
    return answer;
  }

  #occurrence(event: string, payload: object, id: string | undefined): Occurrence {
    if (typeof payload !== "object" || payload === null || Array.isArray(payload)) {
      throw new InvalidInput("payload", "must be an object");
    }
    const hash = payloadHash(payload, "payload");
    if (Object.hasOwn(payload, "type")) {
      throw new InvalidInput("payload.type", "is where a run finds the event's name; give the field another name");
    }
    const value = { type: event, ...payload };
    return {
      event,
      value,
      input: this.#options.codecs.encode(value, "payload"),
      plain: JSON.stringify(filterable(payload)),
      key: id === undefined ? shortOf(hash) : dedupeKey(`id ${id}`, "id"),
      hash,
    };
  }

  async #accept(
    occurrences: readonly Occurrence[],
    inTransaction: InTransaction,
  ): Promise<(Accepted | HoldfastError)[]> {
    const { store, env, stack } = this.#options;
    const events = occurrences.map(({ event, plain }) => ({ env, stack, event, plain }));
    const matched = await store.events.match(events, inTransaction);
    const plans = occurrences.map((occurrence, i) => this.#plan(occurrence, matched[i]!));
    const passed = await this.#pass(
      plans.flatMap((plan) => (plan instanceof HoldfastError ? [] : plan)),
      inTransaction,
    );
    return plans.map((plan) =>
      plan instanceof HoldfastError ? plan : plan.map((wish) => ({ ...wish, passes: passed.has(wish) })),
    );
  }

  /** Those that no circuit breaker rejects. */
  async #pass(wishes: readonly Wish[], inTransaction: InTransaction): Promise<ReadonlySet<Wish>> {
    const { store, env, telemetry } = this.#options;
    const guarded = wishes.map(({ run, breaker }) => ({ env, program: run.group.program, runId: run.id, breaker }));
    const verdicts = await judge(store.breakers, guarded, inTransaction);
    const passed = new Set<Wish>();
    for (const [i, { outcome, probe }] of verdicts.entries()) {
      const { program, runId } = guarded[i]!;
      const tries = probe !== null && (await store.breakers.takeProbe(probe, inTransaction));
      if (tries) telemetry?.emit("breaker.half_opened", { program, runId });
      if (tries || outcome === "passes") passed.add(wishes[i]!);
    }
    return passed;
  }

  /** The runs of one event are put there in one call to the store, whole or not at all. */
  async #insert(accepted: Accepted, inTransaction: InTransaction): Promise<Emitted | HoldfastError> {
    const { store } = this.#options;
    const passed = accepted.filter(({ passes }) => passes);
    const plain = passed.filter(({ ticket }) => ticket === null);
    const debounced = passed.flatMap(({ run, ticket }) => (ticket ? [{ run, ticket }] : []));
    const runs = plain.map(({ run }) => run);
    const [inserted, gathered] = await Promise.all([
      runs.length === 0 ? [] : store.runs.insert(runs, inTransaction),
      debounced.length === 0 ? [] : store.events.debounce(debounced, inTransaction),
    ]);
    const answers = new Map<NewRun, Answer>();
    for (const [i, run] of runs.entries()) answers.set(run, inserted[i]!);
    for (const [i, { run }] of debounced.entries()) answers.set(run, gathered[i]!);
    return emitted(accepted, answers);
  }

  /** Where limits or subjects go by something that the payload does not have, nothing of this event is stored. */
  #plan(occurrence: Occurrence, matched: readonly Matched[]): readonly Wish[] | HoldfastError {
    try {
      return matched.map((one): Wish => {
        const run = this.#newRun(occurrence, one);
        const { breaker, debounceMs } = one;
        if (debounceMs !== null) return { run, ticket: ticketOf(occurrence, one, debounceMs), breaker };
        return { run: { ...run, key: keyOf(occurrence, one) }, ticket: null, breaker };
      });
    } catch (error) {
      if (error instanceof HoldfastError) return error;
      throw error;
    }
  }

  #newRun({ input, value }: Occurrence, { queue, program, version, limits, crashLimit }: Matched) {
    const { world, env, stack, gate } = this.#options;
    return {
      ...this.#deferral(program, gate),
      id: world.id(),
      group: { env, stack, queue, program, version },
      priority: 0,
      delayMs: 0,
      crashLimit,
      input,
      ...(limits.length > 0 && { limits: newLimits(limits, queue, value) }),
    };
  }

  /** Who is started by an event is for all nodes: one that is disabled here is worked on by those who wish it. */
  #deferral(program: string, gate: StartGate | undefined) {
    return gate?.isDisabled(program) === false ? gate.stamp(program) : {};
  }

  #tell(event: string, { runs }: Emitted): void {
    const { telemetry } = this.#options;
    if (!telemetry) return;
    telemetry.emit("event.accepted", { event, runs: runs.filter(({ outcome }) => outcome === "started").length });
    for (const { runId, program, outcome } of runs) {
      if (outcome === "duplicate") telemetry.emit("event.deduplicated", { event, program, runId });
      if (outcome === "debounced") telemetry.emit("event.debounced", { event, program, runId });
      if (outcome === "rejected") telemetry.emit("event.rejected", { event, program });
    }
  }
}

/** The whole hash, written shorter than in hex: every key stands in an index. */
function shortOf(hash: string): string {
  return `sha256 ${Buffer.from(hash, "hex").toString("base64url")}`;
}

/** The same event again is skipped in silence, whatever its payload: its id says that it is the same. */
function keyOf({ key, hash }: Occurrence, { id, lifetime }: Matched): NewKey {
  return { scope: id, key, payloadHash: hash, lifetime, onMismatch: "skip" };
}

function ticketOf({ value }: Occurrence, { id, subject }: Matched, windowMs: number): DebounceTicket {
  return {
    subscription: id,
    subject: readKey(value, subject ?? [], "payload", "a trigger is debounced by it"),
    windowMs,
  };
}

type Answer =
  | { readonly outcome: "inserted" | "existing" | "conflict" | "gathered"; readonly runId: string }
  | { readonly outcome: "refused"; readonly error: HoldfastError };

const OUTCOMES = { inserted: "started", existing: "duplicate", conflict: "duplicate", gathered: "debounced" } as const;

function emitted(wishes: Accepted, answers: ReadonlyMap<NewRun, Answer>): Emitted | HoldfastError {
  const runs: EmittedRun[] = [];
  for (const wish of wishes) {
    const { program } = wish.run.group;
    const answer = answers.get(wish.run);
    if (!answer) runs.push({ program, runId: null, outcome: "rejected" });
    else if (answer.outcome === "refused") return answer.error;
    else runs.push({ program, runId: answer.runId, outcome: OUTCOMES[answer.outcome] });
  }
  return { runs: runs.sort((a, b) => (a.program < b.program ? -1 : a.program > b.program ? 1 : 0)) };
}
