// Collects what the steps of an instance produce until it is written: events, timers, events to other instances,
// effects.

import type { Codecs } from "../kernel/codec/codecs.js";
import { formatDuration } from "../kernel/duration.js";
import type { NewRun, RunGroup } from "../kernel/run/new-run.js";
import type { Append, Change, NewInstanceEvent, NewTimer, NewTold } from "../store/contract/machine/machines.js";
import type { AnyMachine } from "./definition.js";
import { instanceKey, timerId } from "./instance-key.js";
import { type InstanceState, saveState } from "./instance-state.js";
import type { AfterBranch, MachineEvent, Order, Step } from "./logic.js";

/** What steps need from the process: where the instance lives, and how ids are drawn and values encoded. */
export interface InstanceWorld {
  readonly codecs: Codecs;
  readonly env: string;
  readonly stack: string | null;
  readonly crashLimit: number;
  readonly newId: () => string;
  readonly newToken: () => string;
}

export interface Fired {
  readonly id: string;
  readonly generation: number;
}

/** The payload of a timer. */
export type TimerPayload =
  | { readonly kind: "after"; readonly branch: AfterBranch; readonly generation: number }
  | { readonly kind: "raise"; readonly event: MachineEvent; readonly name: string; readonly generation: number };

/** A timer kept in memory. */
export interface LocalTimer {
  readonly delayMs: number;
  readonly payload: TimerPayload;
}

interface Kept {
  readonly events: readonly NewInstanceEvent[];
  readonly timers: ReadonlyMap<string, NewTimer>;
  readonly cancelled: ReadonlySet<string>;
  readonly fired: readonly Fired[];
  readonly sent: ReadonlyMap<string, NewTold>;
  readonly effects: readonly NewRun[];
  readonly local: readonly LocalTimer[];
  /** From emit() and log(), to be published after the write. */
  readonly published: readonly Extract<Order, { kind: "emit" | "log" }>[];
}

const NOTHING: Kept = {
  events: [],
  timers: new Map(),
  cancelled: new Set(),
  fired: [],
  sent: new Map(),
  effects: [],
  local: [],
  published: [],
};

interface TimerToSet {
  /** What people see. */
  readonly shown: string;
  readonly delayMs: number;
  readonly payload: TimerPayload;
  readonly value: unknown;
}

export class Draft {
  readonly #machine: AnyMachine;
  readonly #place: InstanceWorld;
  readonly #kept: { -readonly [Name in keyof Kept]: Kept[Name] };
  #state: InstanceState;

  constructor(machine: AnyMachine, place: InstanceWorld, state: InstanceState, kept: Kept = NOTHING) {
    this.#machine = machine;
    this.#place = place;
    this.#state = state;
    this.#kept = { ...kept };
  }

  /** A step is made on a copy, which is dropped if the step fails. */
  copy(): Draft {
    return new Draft(this.#machine, this.#place, this.#state, this.#kept);
  }

  get state(): InstanceState {
    return this.#state;
  }

  get kept(): Kept {
    return this.#kept;
  }

  record(event: Omit<NewInstanceEvent, "payload">, value: unknown): void {
    const payload = this.#place.codecs.encode(value, "event");
    this.#kept.events = [...this.#kept.events, { ...event, payload }];
  }

  fire(timer: Fired): void {
    this.#kept.fired = [...this.#kept.fired, timer];
  }

  stop(): void {
    this.#state = { ...this.#state, seq: this.#state.seq + 1, status: "stopped" };
    this.#notifyParent();
  }

  /** Moves to the state of the step, and collects its orders. */
  move({ live, orders }: Step): void {
    const { status } = this.#machine.logic.view(live);
    this.#state = { ...this.#state, live, status, seq: this.#state.seq + 1 };
    let effects = 0;
    for (const [n, order] of orders.entries()) this.#take(order, order.kind === "effect" ? effects++ : n);
    if (status !== "active") this.#notifyParent();
  }

  append(expectedSeq: number): Append {
    const { key, group } = this.#state;
    const { fired, cancelled } = this.#kept;
    return { key, group, expectedSeq, fired, cancelled: [...cancelled], ...this.change() };
  }

  change(): Change {
    const { logic, version, snapshotEvery } = this.#machine;
    const { seq, snapshotSeq, live, status } = this.#state;
    const { events, timers, sent, effects } = this.#kept;
    // A snapshot of another version is replaced at once, so that this version's events never have to be read on top of
    // it.
    const due = seq - snapshotSeq >= snapshotEvery || status !== "active" || this.#state.version !== version;
    this.#state = { ...this.#state, version, snapshotSeq: due ? seq : snapshotSeq };
    return {
      token: this.#place.newToken(),
      events,
      status,
      value: JSON.stringify(logic.view(live).value),
      version,
      snapshot: due ? saveState(this.#machine, this.#state, this.#place.codecs) : null,
      timers: status === "active" ? [...timers.values()] : [],
      told: [...sent.values()],
      effects,
    };
  }

  #take(order: Order, n: number): void {
    const { seq, key } = this.#state;
    switch (order.kind) {
      case "after": {
        const { branch, delayMs } = order;
        this.#state = { ...this.#state, entered: { ...this.#state.entered, [branch.path]: seq } };
        const payload: TimerPayload = { kind: "after", branch, generation: seq };
        this.#set(`after:${branch.path}:${branch.delay}`, {
          shown: shownBranch(branch),
          delayMs,
          payload,
          value: branch,
        });
        break;
      }
      case "left":
        this.#state = { ...this.#state, entered: without(this.#state.entered, order.path) };
        this.#cancel(`after:${order.path}:${order.delay}`);
        break;
      case "raise": {
        const { event, delayMs } = order;
        const name = order.id === null ? `raise:#${seq}.${n}` : `raise:${order.id}`;
        const payload: TimerPayload = { kind: "raise", event, name, generation: seq };
        this.#set(name, { shown: `raise ${event.type}`, delayMs, payload, value: event });
        break;
      }
      case "cancel":
        this.#cancel(`raise:${order.id}`);
        this.#remove(timerId(key, `send:${order.id}`));
        break;
      case "send":
        this.#send(order, n);
        break;
      case "effect": {
        const { name: effect, params, context, event } = order;
        const { redact } = this.#machine;
        this.#enqueue({ effect, seq, n, params, context, event, ...(redact.length > 0 && { redact }) });
        break;
      }
      case "emit":
      case "log":
        this.#kept.published = [...this.#kept.published, order];
    }
  }

  #set(name: string, { shown, delayMs, payload, value }: TimerToSet): void {
    const { key, seq, armed } = this.#state;
    if (this.#machine.timers === "memory") {
      this.#state = { ...this.#state, armed: { ...armed, [name]: seq } };
      this.#kept.local = [...this.#kept.local, { delayMs, payload }];
      return;
    }
    const id = timerId(key, name);
    const encoded = this.#place.codecs.encode(value, "timer");
    const timer = { id, generation: seq, kind: payload.kind, name: shown, payload: encoded, delayMs };
    this.#kept.timers = new Map([...this.#kept.timers, [id, timer]]);
    this.#keep(id);
  }

  #cancel(name: string): void {
    this.#state = { ...this.#state, armed: without(this.#state.armed, name) };
    this.#remove(timerId(this.#state.key, name));
  }

  #remove(id: string): void {
    this.#kept.timers = new Map([...this.#kept.timers].filter(([one]) => one !== id));
    this.#kept.sent = new Map([...this.#kept.sent].filter(([one]) => one !== id));
    this.#kept.cancelled = new Set([...this.#kept.cancelled, id]);
  }

  #keep(id: string): void {
    if (!this.#kept.cancelled.has(id)) return;
    this.#kept.cancelled = new Set([...this.#kept.cancelled].filter((one) => one !== id));
  }

  #send(order: Extract<Order, { kind: "send" }>, n: number): void {
    const { env, stack, codecs } = this.#place;
    const { key, seq } = this.#state;
    const { machine, event, delayMs, sendId } = order;
    const id = timerId(key, sendId === null ? `send:#${seq}.${n}` : `send:${sendId}`);
    const content = { event, by: `${this.#machine.name}/${this.#state.id}`, key: `${key}@${seq}.${n}` };
    const sent: NewTold = {
      id,
      generation: seq,
      name: event.type,
      delayMs,
      instanceKey: instanceKey(env, machine, order.id),
      group: timerGroup(env, stack, machine),
      payload: codecs.encode(content, "event"),
    };
    this.#kept.sent = new Map([...this.#kept.sent, [id, sent]]);
    this.#keep(id);
  }

  /** The run that started the instance waits for its end. */
  #notifyParent(): void {
    const { parent, live, seq, status } = this.#state;
    if (parent === null) return;
    const { output } = this.#machine.logic.view(live);
    this.#enqueue({ effect: null, seq, n: 0, ended: { parent, status, output } });
  }

  #enqueue(what: Readonly<Record<string, unknown>>): void {
    const { env, stack, crashLimit, codecs, newId } = this.#place;
    const { queue, effectProgram: program } = this.#machine;
    const run: NewRun = {
      id: newId(),
      group: { env, stack, queue, program, version: null },
      priority: 0,
      delayMs: 0,
      crashLimit,
      input: codecs.encode({ id: this.#state.id, ...what }, "effect"),
    };
    this.#kept.effects = [...this.#kept.effects, run];
  }
}

/** The group under which the timers of a machine's instances are claimed. */
export function timerGroup(env: string, stack: string | null, machine: string): RunGroup {
  return { env, stack, queue: machine, program: machine, version: null };
}

/** `after 30m in pending`. */
export function shownBranch({ path, delay }: AfterBranch): string {
  const ms = Number(delay);
  const shown = Number.isNaN(ms) ? delay : formatDuration(ms);
  return path === "" ? `after ${shown}` : `after ${shown} in ${path}`;
}

function without<T>(record: Readonly<Record<string, T>>, name: string): Readonly<Record<string, T>> {
  if (!(name in record)) return record;
  const { [name]: _, ...rest } = record;
  return rest;
}
