// Collects what the steps of an instance produce until it is written: events, timers, events to other instances,
// effects.

import type { Codecs } from "../kernel/codec/codecs.js";
import { formatDuration } from "../kernel/duration.js";
import type { NewRun, RunGroup } from "../kernel/run/new-run.js";
import type { Append, Change, NewInstanceEvent, NewTimer, NewTold } from "../store/contract/machine/machines.js";
import { type AnyMachine, actorKey } from "./definition.js";
import { ReceiverUnknown } from "./errors.js";
import { instanceKey, timerId } from "./instance-key.js";
import { type InstanceAddress, type InstanceState, type Invoked, saveState } from "./instance-state.js";
import type { Address, AfterBranch, MachineEvent, Order, Step } from "./logic.js";

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

/** An actor that begins with the step. */
interface Begun {
  readonly id: string;
  readonly input: unknown;
  readonly actor: Invoked;
}

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
    this.#end();
  }

  /** The instance ends with this error, at its next sequence. */
  fail(error: unknown): void {
    const live = this.#machine.logic.fail(this.#state.live, error);
    this.#state = { ...this.#state, live, seq: this.#state.seq + 1, status: "error" };
    this.#end();
  }

  /** The actor has answered: its state need not stop it. */
  answered(actor: string): void {
    this.#state = { ...this.#state, invoked: without(this.#state.invoked, actor) };
  }

  /** Moves to the state of the step, and collects its orders. Actors begin last: a state that is left in the same step begins none. */
  move({ live, orders }: Step): void {
    const { status } = this.#machine.logic.view(live);
    this.#state = { ...this.#state, live, status, seq: this.#state.seq + 1 };
    const begun = new Map<string, Begun>();
    for (const [n, order] of orders.entries()) this.#take(order, n, begun);
    let n = 0;
    for (const order of orders) if (order.kind === "effect") this.#ask(order, n++);
    for (const { id, input, actor } of begun.values()) this.#invoke(id, actor, input, n++);
    if (status !== "active") this.#end();
  }

  /** Timers of the current definition that the instance lacks, and entries of states that it is in by a migration. */
  arm(timers: readonly { readonly branch: AfterBranch; readonly delayMs: number }[], removed: readonly string[]): void {
    const { logic } = this.#machine;
    const { live, entered } = this.#state;
    const seq = this.#state.seq + 1;
    const paths = logic.active(live).map((path) => [path, entered[path] ?? seq] as const);
    this.#state = { ...this.#state, seq, entered: Object.fromEntries(paths), unarmed: true };
    for (const id of removed) this.#remove(id);
    for (const { branch, delayMs } of timers) this.#arm(branch, delayMs);
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
    const isOther = this.#state.version !== version || this.#state.unarmed;
    const due = seq - snapshotSeq >= snapshotEvery || status !== "active" || isOther;
    this.#state = { ...this.#state, version, snapshotSeq: due ? seq : snapshotSeq, unarmed: false };
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

  #take(order: Order, n: number, begun: Map<string, Begun>): void {
    const { seq, key } = this.#state;
    switch (order.kind) {
      case "entered":
        this.#enter(order.path);
        break;
      case "exited":
        this.#exit(order.path, begun);
        break;
      case "after":
        this.#arm(order.branch, order.delayMs);
        break;
      case "left":
        this.#cancel(`after:${order.path}:${order.delay}`);
        break;
      case "invoke":
        this.#begin(order, begun);
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
      case "emit":
      case "log":
        this.#kept.published = [...this.#kept.published, order];
    }
  }

  #enter(path: string): void {
    const { seq, entered, asked } = this.#state;
    const now = { [path]: seq };
    this.#state = {
      ...this.#state,
      entered: { ...entered, ...now },
      asked: path in asked ? { ...asked, ...now } : asked,
    };
  }

  #exit(path: string, begun: Map<string, Begun>): void {
    this.#state = { ...this.#state, entered: without(this.#state.entered, path) };
    for (const [id, actor] of Object.entries(this.#state.invoked)) {
      if (actor.path !== path) continue;
      this.answered(id);
      if (!begun.delete(id)) this.#stopActor(actor);
    }
  }

  #arm(branch: AfterBranch, delayMs: number): void {
    const generation = this.#state.entered[branch.path]!;
    const payload: TimerPayload = { kind: "after", branch, generation };
    this.#set(`after:${branch.path}:${branch.delay}`, {
      shown: shownBranch(branch),
      delayMs,
      payload,
      value: branch,
    });
  }

  /** A child has its address at once, so that it can be sent to in the same step. */
  #begin({ path, id, input }: Extract<Order, { kind: "invoke" }>, begun: Map<string, Begun>): void {
    const { seq } = this.#state;
    const found = this.#machine.actors.get(actorKey(path, id))!;
    const child = found.kind === "machine" && { machine: found.machine.name, id: `${this.#state.id}/${id}@${seq}` };
    const actor = { path, seq, run: this.#place.newId(), ...(child && { child }) };
    this.#state = { ...this.#state, invoked: { ...this.#state.invoked, [id]: actor } };
    begun.set(id, { id, input, actor });
  }

  #invoke(id: string, { path, seq, run, child }: Invoked, input: unknown, n: number): void {
    const { redact, name: machine } = this.#machine;
    const invoke = { path, id, ...(child && { child, owner: { machine, id: this.#state.id } }) };
    const hidden = redact.length > 0 && { redact };
    this.#enqueue({ effect: null, seq, n, invoke, params: input, ...hidden }, run);
  }

  #ask(order: Extract<Order, { kind: "effect" }>, n: number): void {
    const { seq, entered, asked } = this.#state;
    const { name: effect, params, context, event, path } = order;
    const { redact } = this.#machine;
    const stay = path === null ? null : { path, seq: entered[path] ?? seq };
    if (stay) this.#state = { ...this.#state, asked: { ...asked, [stay.path]: stay.seq } };
    const what = { effect, seq, n, params, context, event, ...(stay && { stay }) };
    this.#enqueue({ ...what, ...(redact.length > 0 && { redact }) });
  }

  #stopActor({ run, child }: Invoked): void {
    this.#enqueue({ effect: null, seq: this.#state.seq, n: 0, stop: { run, ...(child && { child }) } });
  }

  /** Nothing that belongs to the instance outlives it, and its parent learns of its end. */
  #end(): void {
    for (const actor of Object.values(this.#state.invoked)) this.#stopActor(actor);
    this.#state = { ...this.#state, invoked: {} };
    this.#notifyParent();
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
    const { kind, generation } = payload;
    const timer = { id, generation, kind, name: shown, payload: encoded, delayMs };
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
    const { event, delayMs, sendId } = order;
    const { machine, id: receiver } = this.#receiver(order.to, event);
    const id = timerId(key, sendId === null ? `send:#${seq}.${n}` : `send:${sendId}`);
    const content = { event, by: `${this.#machine.name}/${this.#state.id}`, key: `${key}@${seq}.${n}` };
    const sent: NewTold = {
      id,
      generation: seq,
      name: event.type,
      delayMs,
      instanceKey: instanceKey(env, machine, receiver),
      group: timerGroup(env, stack, machine),
      payload: codecs.encode(content, "event"),
    };
    this.#kept.sent = new Map([...this.#kept.sent, [id, sent]]);
    this.#keep(id);
  }

  #receiver(to: Address, { type }: MachineEvent): InstanceAddress {
    if ("machine" in to) return to;
    const { id, invoked, owner } = this.#state;
    const found = "child" in to ? invoked[to.child]?.child : owner;
    if (found) return found;
    throw new ReceiverUnknown(id, type, "child" in to ? `actor ${JSON.stringify(to.child)}` : "parent");
  }

  /** The run that started the instance waits for its end. */
  #notifyParent(): void {
    const { parent, live, seq, status } = this.#state;
    if (parent === null) return;
    const { output } = this.#machine.logic.view(live);
    this.#enqueue({ effect: null, seq, n: 0, ended: { parent, status, output } });
  }

  #enqueue(what: Readonly<Record<string, unknown>>, id = this.#place.newId()): void {
    const { env, stack, crashLimit, codecs } = this.#place;
    const { queue, effectProgram: program } = this.#machine;
    const run: NewRun = {
      id,
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
  const shown = shownDelay(delay);
  return path === "" ? `after ${shown}` : `after ${shown} in ${path}`;
}

/** A delay that is computed has a name. */
export function shownDelay(delay: string): string {
  const ms = Number(delay);
  return Number.isNaN(ms) ? delay : formatDuration(ms);
}

function without<T>(record: Readonly<Record<string, T>>, name: string): Readonly<Record<string, T>> {
  if (!(name in record)) return record;
  const { [name]: _, ...rest } = record;
  return rest;
}
