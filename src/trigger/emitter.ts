// Emits events: finds who is to be started by each, and puts their runs there. It never claims anything.

import { payloadHash } from "../kernel/canonical.js";
import type { Codecs } from "../kernel/codecs.js";
import { filterable } from "../kernel/contains.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import { readKey } from "../kernel/input-path.js";
import { lane } from "../kernel/lane.js";
import { newLimits } from "../kernel/limit-rule.js";
import { dedupeKey } from "../kernel/name.js";
import type { NewKey, NewRun } from "../kernel/new-run.js";
import type { Payload } from "../kernel/payload.js";
import type { World } from "../kernel/world.js";
import type { Matched, NewDebounced } from "../store/contract/events.js";
import type { Store } from "../store/contract/store.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { Telemetry } from "../telemetry/bus.js";
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

export interface EmittedRun {
  readonly runId: string;
  readonly program: string;
  /** `duplicate`: the same event had started it before. `debounced`: it begins when its subject is quiet. */
  readonly outcome: "started" | "duplicate" | "debounced";
}

export interface EmitterOptions {
  readonly store: Store;
  readonly codecs: Codecs;
  readonly world: World;
  readonly env: string;
  readonly stack: string | null;
  readonly telemetry?: Telemetry<TriggerEvents>;
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

/** What one occurrence asks of the store. */
interface Plan {
  readonly occurrence: Occurrence;
  readonly runs: readonly NewRun[];
  readonly debounced: readonly NewDebounced[];
}

const AT_ONCE = { maxRows: 500, maxBytes: 4 * 1024 * 1024 };

export class Emitter {
  readonly #options: EmitterOptions;
  readonly #lane: (occurrence: Occurrence) => Promise<Emitted | HoldfastError>;

  constructor(options: EmitterOptions) {
    this.#options = options;
    this.#lane = lane<Occurrence, Emitted | HoldfastError>((occurrences) => this.#accept(occurrences), {
      ...AT_ONCE,
      world: options.world,
      sizeOf: ({ plain, input }) => ({ rows: 1, bytes: plain.length + input.data.length }),
    });
  }

  async emit<Name extends string, Payload extends object>(
    type: EventType<Name, Payload>,
    payload: Payload,
    { id, tx }: EmitOptions = {},
  ): Promise<Emitted> {
    const occurrence = this.#occurrence(type.name, payload, id);
    // Single calls that come together leave together; one in a transaction goes with that.
    const answer = tx ? (await this.#accept([occurrence], tx))[0]! : await this.#lane(occurrence);
    if (answer instanceof HoldfastError) throw answer;
    this.#tell(type.name, answer);
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
      key: dedupeKey(id === undefined ? `sha256 ${hash}` : `id ${id}`, "id"),
      hash,
    };
  }

  /** Each event's runs are put there in one call to the store, whole or not at all. */
  async #accept(occurrences: readonly Occurrence[], tx?: Transaction): Promise<(Emitted | HoldfastError)[]> {
    const { store, env, stack } = this.#options;
    const inTransaction = tx ? { tx } : {};
    const events = occurrences.map(({ event, plain }) => ({ env, stack, event, plain }));
    const matched = await store.events.match(events, inTransaction);
    const plans = occurrences.map((occurrence, i) => this.#plan(occurrence, matched[i]!));
    const good = plans.filter((plan): plan is Plan => !(plan instanceof HoldfastError));
    const debounced = good.flatMap((plan) => plan.debounced);
    const [inserted, gathered] = await Promise.all([
      Promise.all(good.map(({ runs }) => (runs.length === 0 ? [] : store.runs.insert(runs, inTransaction)))),
      debounced.length === 0 ? [] : store.events.debounce(debounced, inTransaction),
    ]);
    const started = new Map(good.map((plan, i) => [plan, inserted[i]!]));
    const gatherers = new Map(debounced.map((event, i) => [event, gathered[i]!]));
    return plans.map((plan) => {
      if (plan instanceof HoldfastError) return plan;
      const answers = [
        ...plan.runs.map((run, i) => ({ program: run.group.program, answer: started.get(plan)![i]! })),
        ...plan.debounced.map((event) => ({ program: event.run.group.program, answer: gatherers.get(event)! })),
      ];
      return emitted(answers);
    });
  }

  /** Where limits or subjects go by something that the payload does not have, nothing of this event is stored. */
  #plan(occurrence: Occurrence, matched: readonly Matched[]): Plan | HoldfastError {
    try {
      const runs: NewRun[] = [];
      const debounced: NewDebounced[] = [];
      for (const one of matched) {
        const run = this.#newRun(occurrence, one);
        if (one.debounceMs === null) runs.push({ ...run, key: keyOf(occurrence, one) });
        else debounced.push({ run, ticket: ticketOf(occurrence, one, one.debounceMs) });
      }
      return { occurrence, runs, debounced };
    } catch (error) {
      if (error instanceof HoldfastError) return error;
      throw error;
    }
  }

  #newRun({ input, value }: Occurrence, { queue, program, version, limits, crashLimit }: Matched) {
    const { world, env, stack } = this.#options;
    return {
      id: world.id(),
      group: { env, stack, queue, program, version },
      priority: 0,
      delayMs: 0,
      crashLimit,
      input,
      ...(limits.length > 0 && { limits: newLimits(limits, queue, value) }),
    };
  }

  #tell(event: string, { runs }: Emitted): void {
    const { telemetry } = this.#options;
    if (!telemetry) return;
    telemetry.emit("event.accepted", { event, runs: runs.filter(({ outcome }) => outcome === "started").length });
    for (const { runId, program, outcome } of runs) {
      if (outcome === "duplicate") telemetry.emit("event.deduplicated", { event, program, runId });
      if (outcome === "debounced") telemetry.emit("event.debounced", { event, program, runId });
    }
  }
}

/** The same event again is skipped in silence, whatever its payload: its id says that it is the same. */
function keyOf({ key, hash }: Occurrence, { id, lifetime }: Matched): NewKey {
  return { scope: id, key, payloadHash: hash, lifetime, onMismatch: "skip" };
}

function ticketOf({ value }: Occurrence, { id, subject }: Matched, windowMs: number) {
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

function emitted(answers: readonly { readonly program: string; readonly answer: Answer }[]): Emitted | HoldfastError {
  const runs: EmittedRun[] = [];
  for (const { program, answer } of answers) {
    if (answer.outcome === "refused") return answer.error;
    runs.push({ runId: answer.runId, program, outcome: OUTCOMES[answer.outcome] });
  }
  return { runs: runs.sort((a, b) => (a.program < b.program ? -1 : a.program > b.program ? 1 : 0)) };
}
