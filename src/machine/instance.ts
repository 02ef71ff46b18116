// A handle on an instance: send events to it, read its state and history, stop it.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { omit } from "../kernel/omit.js";
import type { InstanceStatus, LoadedInstance, TimerRecord } from "../store/contract/machine/machines.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { AnyMachine } from "./definition.js";
import { InstanceUnknown, WaitTimeout } from "./errors.js";
import { type HistoryEntry, historyOf } from "./history.js";
import type { Found, Instances } from "./instances.js";
import { instanceWatcher } from "./instances.js";
import type { MachineEvent } from "./logic.js";
import type { Delivered } from "./mailbox.js";
import { checkEvent, senderOf, storeForLater } from "./store-event.js";

/** Options for starting an instance. */
export interface InstanceOptions {
  /** Default: a generated id. */
  readonly id?: string;
  /** Your own transaction: the instance exists once you commit. */
  readonly tx?: Transaction;
}

export interface SendEventOptions {
  /** Fails with SequenceConflict when the instance is at another sequence. */
  readonly expectedSeq?: number;
  /** Accepted once: a second send returns `duplicate`. */
  readonly key?: string;
  /** Who sends it, for the history. */
  readonly by?: string;
}

export interface SendLaterOptions {
  readonly key?: string;
  readonly by?: string;
  /** Your own transaction: the event is applied after you commit. */
  readonly tx?: Transaction;
  /** The event is applied after this time. */
  readonly delay?: Duration;
}

/** `unhandled`: no transition takes the event in the current state. Nothing was written. */
export interface Sent<Value> {
  readonly outcome: "applied" | "unhandled" | "duplicate";
  readonly seq: number;
  readonly value: Value;
  readonly status: InstanceStatus;
}

/** The event is stored, and a node will apply it. */
export interface Accepted {
  readonly outcome: "accepted";
}

export interface StateOf<Value, Context, Out> {
  readonly value: Value;
  readonly context: Context;
  readonly status: InstanceStatus;
  /** Undefined until the instance is done. */
  readonly output: Out | undefined;
  readonly tags: readonly string[];
  readonly seq: number;
  readonly version: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface InstanceTimer extends Pick<TimerRecord, "kind" | "dueAt" | "attempts" | "state" | "problem"> {
  /** `after 30m in pending`. */
  readonly name: string;
  /** The sequence at which it was set. */
  readonly generation: number;
}

export class Instance<Ev extends MachineEvent, Value, Context, Out> {
  readonly id: string;
  readonly #machine: AnyMachine;
  readonly #instances: Instances;

  constructor(machine: AnyMachine, id: string, instances: Instances) {
    this.id = id;
    this.#machine = machine;
    this.#instances = instances;
  }

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
    const { value, context, output, tags } = this.#machine.logic.view(state.live);
    const { status, seq, version, createdAt, updatedAt } = loaded;
    const known = { value, context, output } as { value: Value; context: Context; output: Out | undefined };
    return { ...known, status, tags, seq, version, createdAt, updatedAt };
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

/** How long the last poll may take after a wait has timed out. */
const LAST_LOOK_MS = 1_000;

/** All waiting callers of a process share one poll per store. Polls at least once, even with a timeout of zero. `fits` returns null when the state is not the wanted one. */
async function waitForState<T>(
  instances: Instances,
  { machine, id }: { readonly machine: AnyMachine; readonly id: string },
  fits: (found: Found) => T | null,
  timeoutMs: number,
): Promise<T> {
  const { store, world } = instances;
  const watcher = instanceWatcher(store, world);
  const key = instances.keyOf(machine.name, id);
  return new Promise((resolve, reject) => {
    let isLast = false;
    let isJudging = false;
    let cancel = () => {};
    const over = (end: () => void) => {
      cancel();
      leave();
      end();
    };
    const judge = async (loaded: LoadedInstance | null) => {
      if (!loaded) throw new InstanceUnknown(machine.name, id);
      const wasLast = isLast;
      const wanted = fits(await instances.stateOf(machine, loaded));
      if (wanted !== null) over(() => resolve(wanted));
      else if (wasLast) throw new WaitTimeout(id, timeoutMs);
    };
    let seenSeq = 0;
    const leave = watcher.watch(key, {
      onSeen: (loaded) => {
        const isNews = seenSeq > 0 && loaded?.seq !== seenSeq;
        seenSeq = loaded?.seq ?? 0;
        if (isJudging) return isNews;
        isJudging = true;
        judge(loaded)
          .catch((error) => over(() => reject(error)))
          .finally(() => {
            isJudging = false;
          });
        return isNews;
      },
      onFailed: (error) => over(() => reject(error)),
    });
    if (!Number.isFinite(timeoutMs)) return;
    cancel = world.after(timeoutMs, () => {
      isLast = true;
      watcher.wake(key);
      cancel = world.after(LAST_LOOK_MS, () => over(() => reject(new WaitTimeout(id, timeoutMs))));
    });
  });
}
