// A handle on an instance: send events to it, read its state and history, stop it.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { omit } from "../kernel/omit.js";
import type { InstanceStatus, TimerRecord } from "../store/contract/machine/machines.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { AnyMachine, InstanceId } from "./definition.js";
import { InstanceUnknown } from "./errors.js";
import { type HistoryEntry, historyOf } from "./history.js";
import type { Found, Instances } from "./instances.js";
import type { MachineEvent } from "./logic.js";
import type { Delivered } from "./mailbox.js";
import { checkEvent, senderOf, storeForLater } from "./store-event.js";
import { waitForState, watchState } from "./watch-state.js";

/** Options for starting an instance. */
export interface InstanceOptions<Name extends string = string> {
  /** The id of the instance. @default a generated one */
  readonly id?: InstanceId<Name>;
  /** Your own transaction: the instance exists once you commit. */
  readonly tx?: Transaction;
}

/** Options of `send`. */
export interface SendEventOptions {
  /** Fails with SequenceConflict when the instance is at another sequence. */
  readonly expectedSeq?: number;
  /** Accepted once: a second send returns `duplicate`. */
  readonly key?: string;
  /** Who sends it, for the history. */
  readonly by?: string;
}

/** Options of `send` for an event that is applied later. */
export interface SendLaterOptions {
  /** Accepted once: a second send with it changes nothing. */
  readonly key?: string;
  /** Who sends it, for the history. */
  readonly by?: string;
  /** Your own transaction: the event is applied after you commit. */
  readonly tx?: Transaction;
  /** The event is applied after this time. */
  readonly delay?: Duration;
}

/** `unhandled`: no transition takes the event in the current state. Nothing was written. */
export interface Sent<Value> {
  /** What happened to the event. */
  readonly outcome: "applied" | "unhandled" | "duplicate";
  /** The sequence of the instance after it. */
  readonly seq: number;
  /** The state value after it. */
  readonly value: Value;
  /** The status of the instance after it. */
  readonly status: InstanceStatus;
}

/** The event is stored, and a node will apply it. */
export interface Accepted {
  /** Always `accepted`. */
  readonly outcome: "accepted";
}

/** The state of an instance. */
export interface StateOf<Value, Context, Out> {
  /** The state value, as XState has it. */
  readonly value: Value;
  /** The context of the machine. */
  readonly context: Context;
  /** Whether it is active, done, stopped or has failed. */
  readonly status: InstanceStatus;
  /** Undefined until the instance is done. */
  readonly output: Out | undefined;
  /** The tags of the active states. */
  readonly tags: readonly string[];
  /** What ended it with the status `error`: its name and message. */
  readonly error: unknown;
  /** The number of events that were applied. */
  readonly seq: number;
  /** The version of the code that wrote it; null: none was given. */
  readonly version: string | null;
  /** When it was started; ms since 1970 on the database's clock. */
  readonly createdAt: number;
  /** When it changed last; ms since 1970 on the database's clock. */
  readonly updatedAt: number;
}

/** A pending or failed timer of an instance. */
export interface InstanceTimer extends Pick<TimerRecord, "kind" | "dueAt" | "attempts" | "state" | "problem"> {
  /** `after 30m in pending`. */
  readonly name: string;
  /** The sequence at which it was set. */
  readonly generation: number;
}

/** A handle on an instance of a machine: send events to it, read its state and history, wait, stop it. */
export class Instance<Ev extends MachineEvent, Value, Context, Out, Name extends string = string> {
  /** The id of the instance. */
  readonly id: InstanceId<Name>;
  readonly #machine: AnyMachine;
  readonly #instances: Instances;

  constructor(machine: AnyMachine, id: string, instances: Instances) {
    this.id = id;
    this.#machine = machine;
    this.#instances = instances;
  }

  /** The id with env and machine, as tables and events have it. */
  get key(): string {
    return this.#instances.keyOf(this.#machine.name, this.id);
  }

  /** One event, one transaction. In your own transaction, or with a delay, it is accepted now and applied later. */
  send(
    event: Ev,
    options: SendLaterOptions & ({ readonly tx: Transaction } | { readonly delay: Duration }),
  ): Promise<Accepted>;
  send(event: Ev, options?: SendEventOptions): Promise<Sent<Value>>;
  async send(event: Ev, options: SendEventOptions & SendLaterOptions = {}): Promise<Sent<Value> | Accepted> {
    const { tx, delay, expectedSeq } = options;
    const { key, by } = senderOf(options);
    checkEvent(event);
    if (tx || delay !== undefined) {
      if (expectedSeq !== undefined)
        throw new InvalidInput("expectedSeq", "cannot be used with an event that is applied later");
      const machine = this.#machine.name;
      await storeForLater(this.#instances, { machine, id: this.id, event, key, by, tx, delay });
      return { outcome: "accepted" };
    }
    const incoming = { kind: "event", event, key, by, expectedSeq, timer: null } as const;
    return this.#sent(await this.#instances.deliver(this.#machine, this.id, incoming));
  }

  /**
   * From now on the instance takes no events, and its timers are removed. Stopping it again fails with InstanceEnded.
   */
  async stop(options: { readonly reason?: string; readonly by?: string } = {}): Promise<Sent<Value>> {
    const { reason = null, by = null } = options;
    return this.#sent(await this.#instances.deliver(this.#machine, this.id, { kind: "stop", by, reason, timer: null }));
  }

  /** Read from the store, so it includes changes by other processes. */
  async state(): Promise<StateOf<Value, Context, Out>> {
    return this.#shown(await this.#instances.state(this.#machine, this.id));
  }

  #shown({ state, loaded }: Found): StateOf<Value, Context, Out> {
    const { codecs } = this.#instances;
    const { value, output, error, tags, ...view } = this.#machine.logic.view(state.live);
    // A copy, as another process would read it: the state itself is what the next event is applied to.
    const context = codecs.decode(codecs.encode(view.context, "context"));
    const { status, version, createdAt, updatedAt } = loaded;
    const known = { value, context, output } as { value: Value; context: Context; output: Out | undefined };
    return { ...known, status, error, tags, seq: state.seq, version, createdAt, updatedAt };
  }

  /** Whether the state value matches, as XState's `matches`: `matches("checkout")` is true in `checkout.paying`. */
  async matches(value: PartialValue<Value>): Promise<boolean> {
    const { state } = await this.#instances.state(this.#machine, this.id);
    return this.#machine.logic.matches(state.live, value);
  }

  /** Whether an active state has this tag. */
  async hasTag(tag: string): Promise<boolean> {
    return (await this.state()).tags.includes(tag);
  }

  /** Whether a transition would take the event now. Its guards are asked. */
  async can(event: Ev): Promise<boolean> {
    checkEvent(event);
    const { state } = await this.#instances.state(this.#machine, this.id);
    return state.status === "active" && this.#machine.logic.can(state.live, event);
  }

  /** The `meta` of the active states, by the ids of the states. */
  async getMeta(): Promise<Readonly<Record<string, unknown>>> {
    const { state } = await this.#instances.state(this.#machine, this.id);
    return this.#machine.logic.meta(state.live);
  }

  /**
   * Calls with the current state and after each change, by any process, until the instance ends or you unsubscribe. Changes in quick
   * succession are one call, with the last state.
   */
  subscribe(
    next: (state: StateOf<Value, Context, Out>) => void,
    options: { readonly onError?: (error: unknown) => void } = {},
  ): { unsubscribe(): void } {
    return watchState(this.#instances, this.#machine, this.id, {
      next: (found) => next(this.#shown(found)),
      onError: options.onError ?? (() => {}),
    });
  }

  /** Resolves with the first matching state. */
  async waitFor(
    fits: (state: StateOf<Value, Context, Out>) => boolean,
    options: { readonly timeout?: Duration } = {},
  ): Promise<StateOf<Value, Context, Out>> {
    const timeoutMs = options.timeout === undefined ? Number.POSITIVE_INFINITY : toMs(options.timeout, "timeout");
    const wanted = (found: Found) => {
      const state = this.#shown(found);
      return fits(state) ? state : null;
    };
    return waitForState(this.#instances, { machine: this.#machine, id: this.id }, wanted, timeoutMs);
  }

  /** Its events in order, with marked fields redacted. */
  async history(options: { readonly after?: number; readonly limit?: number } = {}): Promise<readonly HistoryEntry[]> {
    const { store, codecs } = this.#instances;
    const [loaded] = await store.machines.load([this.key]);
    if (!loaded) throw new InstanceUnknown(this.#machine.name, this.id);
    const { after = 0, limit = 1000 } = options;
    const redacted = [...new Set([...loaded.redact, ...this.#machine.redact])];
    return historyOf(await store.machines.events(this.key, { after, limit }), codecs, redacted);
  }

  /** Its pending and failed timers. */
  async timers(): Promise<readonly InstanceTimer[]> {
    const timers = await this.#instances.store.machines.timers(this.key);
    return timers.map((timer) => omit(timer, "id", "instanceKey", "payload", "tryAt"));
  }

  /** Tries failed timers again. Returns their number. */
  async retryTimers(): Promise<number> {
    const count = await this.#instances.store.machines.retryTimers(this.key);
    if (count > 0) this.#instances.wakeups.wake("timers", 0);
    return count;
  }

  #sent(delivered: Delivered): Sent<Value> {
    if (delivered.outcome === "failed") throw delivered.error;
    const { state } = delivered;
    const outcome =
      delivered.outcome === "stale" || delivered.outcome === "unknown branch" ? "unhandled" : delivered.outcome;
    const value = this.#machine.logic.view(state.live).value as Value;
    const seq = delivered.outcome === "applied" ? delivered.seq : state.seq;
    return { outcome, seq, value, status: state.status };
  }
}

/** A state value, or the name of its outermost state. */
type PartialValue<Value> = Value extends string ? Value : Value extends object ? Value | (keyof Value & string) : Value;
