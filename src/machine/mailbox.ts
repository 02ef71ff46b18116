// One instance's incoming events in this process: events that arrive while an append is in flight form the next append,
// in order.

import { buggify } from "../kernel/buggify.js";
import { sleep, type World } from "../kernel/world.js";
import type { AppendAnswer, MachineStore } from "../store/contract/machine/machines.js";
import type { AnyMachine } from "./definition.js";
import type { Draft, InstanceWorld } from "./draft.js";
import { InstanceUnknown, SequenceConflict } from "./errors.js";
import type { InstanceState } from "./instance-state.js";
import type { StateCache } from "./state-cache.js";
import { type Incoming, type StepOutcome, Steps } from "./steps.js";

/** After this many lost races the caller gets an error. */
const MOST_CONFLICTS = 10;
const MOST_EVENTS = 100;
/** Another statement holds the row: tried again after a pause that grows. */
const BUSY_PAUSE_MS = 3;
const LONGEST_BUSY_PAUSE_MS = 100;

/** `duplicate`: an event with this key was accepted before. */
export type Delivered = (StepOutcome | { readonly outcome: "duplicate" }) & { readonly state: InstanceState };

export interface MailboxParts {
  readonly machine: AnyMachine;
  readonly key: string;
  readonly id: string;
  readonly place: InstanceWorld;
  readonly store: MachineStore;
  readonly world: World;
  readonly cache: StateCache;
  /** Read from the store. Throws InstanceUnknown and InstanceQuarantined. */
  readonly load: () => Promise<InstanceState>;
  /** With exclusive access to the instance, if the machine asks for it. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>;
  readonly onWritten: (draft: Draft) => void;
  readonly onConflict: (expected: number, actual: number) => void;
}

interface Item {
  readonly incoming: Incoming;
  readonly resolve: (delivered: Delivered) => void;
  readonly reject: (error: unknown) => void;
}

export class Mailbox {
  readonly #parts: MailboxParts;
  #waiting: Item[] = [];
  #running = false;
  #oneByOne: Item[] = [];

  constructor(parts: MailboxParts) {
    this.#parts = parts;
  }

  /** `onIdle`: called when nothing waits any more. */
  add(incoming: Incoming, onIdle: () => void): Promise<Delivered> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ incoming, resolve, reject });
      if (!this.#running) void this.#run(onIdle);
    });
  }

  async #run(onIdle: () => void): Promise<void> {
    this.#running = true;
    await this.#parts.world.turn();
    while (this.#waiting.length > 0) {
      const most = buggify(this.#parts.world, "machine.one-event") ? 1 : MOST_EVENTS;
      const items = this.#waiting.splice(0, most);
      try {
        await this.#parts.alone(async () => {
          await this.#deliver(items);
          for (const item of this.#oneByOne.splice(0)) await this.#deliver([item]).catch(item.reject);
        });
      } catch (error) {
        for (const { reject } of items) reject(error);
      }
    }
    // Set synchronously: the next event starts a new round.
    this.#running = false;
    onIdle();
  }

  async #deliver(all: readonly Item[]): Promise<void> {
    const { machine, place, store, cache, key, world } = this.#parts;
    let items = all;
    let fresh = false;
    let conflicts = 0;
    let busyMs = BUSY_PAUSE_MS;
    while (items.length > 0) {
      const guess = fresh || buggify(world, "machine.cold") ? undefined : cache.get(key);
      const state = guess ?? (await this.#parts.load());
      const steps = new Steps(machine, place, state);
      const outcomes = items.map(({ incoming }) => steps.apply(incoming));
      const append = steps.append();
      // Code that threw may have modified the cached state, so the cache entry is dropped.
      if (outcomes.some(({ outcome }) => outcome === "failed")) cache.delete(key);
      if (!append) {
        // An event without effect is believed only of a state that was just read: another process may have moved the
        // instance.
        if (guess) fresh = true;
        else return answer(items, outcomes, state);
        continue;
      }
      const [answered] = await store.append([append]);
      if (answered!.outcome === "accepted" || answered!.outcome === "recorded") {
        cache.set(steps.state, append.snapshot?.data.length);
        this.#parts.onWritten(steps.draft);
        return answer(items, outcomes, steps.state);
      }
      if (answered!.outcome === "busy") {
        // The other process most probably moves the instance, so the cached state is stale.
        cache.delete(key);
        fresh = true;
        await sleep(world, busyMs * (0.5 + world.random()));
        busyMs = Math.min(busyMs * 1.5, LONGEST_BUSY_PAUSE_MS);
        continue;
      }
      cache.delete(key);
      fresh = true;
      if (answered!.outcome === "moved" && ++conflicts > MOST_CONFLICTS) {
        throw new SequenceConflict(this.#parts.id, append.expectedSeq, answered!.seq);
      }
      items = this.#without(items, answered!, append.expectedSeq, state);
    }
  }

  /** The items that remain to be tried again. */
  #without(items: readonly Item[], answered: AppendAnswer, expected: number, state: InstanceState): readonly Item[] {
    const { machine, id } = this.#parts;
    switch (answered.outcome) {
      case "unknown":
        throw new InstanceUnknown(machine.name, id);
      case "refused":
        if (items.length === 1) throw answered.error;
        // One of them cannot be stored: write them one by one, in order.
        this.#oneByOne = [...items];
        return [];
      case "taken":
        return settle(items, state, "duplicate", ({ incoming }) => {
          return incoming.kind === "event" && incoming.key !== null && answered.keys.includes(incoming.key);
        });
      case "moved":
        this.#parts.onConflict(expected, answered.seq);
        // The instance did not move, but a timer is gone: it has been fired or cancelled.
        return answered.seq === expected
          ? settle(items, state, "stale", ({ incoming }) => incoming.timer !== null)
          : items;
      default:
        return items;
    }
  }
}

function answer(items: readonly Item[], outcomes: readonly StepOutcome[], state: InstanceState): void {
  for (const [i, { resolve }] of items.entries()) resolve({ ...outcomes[i]!, state });
}

function settle(
  items: readonly Item[],
  state: InstanceState,
  outcome: "duplicate" | "stale",
  which: (item: Item) => boolean,
): Item[] {
  for (const item of items) if (which(item)) item.resolve({ outcome, state });
  return items.filter((item) => !which(item));
}
