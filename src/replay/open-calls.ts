// The calls of a function that have no ending yet, and those that were withdrawn while they were at work.

import type { Call } from "./call.js";

type Which = (call: Call) => boolean;

export class OpenCalls {
  readonly #open = new Set<Call>();
  /** Withdrawn: the function has gone past them, and their work has not ended. */
  readonly #closing = new Set<Call>();

  get size(): number {
    return this.#open.size;
  }

  [Symbol.iterator](): IterableIterator<Call> {
    return this.#open.values();
  }

  add(call: Call): void {
    this.#open.add(call);
  }

  has(call: Call): boolean {
    return this.#open.has(call);
  }

  delete(call: Call): boolean {
    return this.#open.delete(call);
  }

  /** Ends a call without an ending. */
  withdraw(call: Call, error: Error): Promise<void> | null {
    this.#open.delete(call);
    const stopping = call.withdraw(error);
    if (call.running) this.#closing.add(call);
    return stopping;
  }

  /** Whether this process is working for one of them: a step or a write. */
  isBusy(which?: Which): boolean {
    for (const call of this.#open) if (call.started && call.running && (!which || which(call))) return true;
    for (const call of this.#closing) {
      if (!call.running) this.#closing.delete(call);
      else if (!which || which(call)) return true;
    }
    return false;
  }

  start(which: Which): void {
    for (const call of this.#open) if (!call.started && which(call)) call.start();
  }

  expire(now: number, which: Which): void {
    for (const call of this.#open) {
      if (!call.running && call.deadline !== null && call.deadline <= now && which(call)) call.expire();
    }
  }

  /** The nearest deadline. A call that is writing its expiry has none left: waiting for it would become a loop of short sleeps. */
  deadline(which: Which): number | null {
    let nearest = Number.POSITIVE_INFINITY;
    for (const call of this.#open) {
      if (!call.running && call.deadline !== null && which(call)) nearest = Math.min(nearest, call.deadline);
    }
    return nearest === Number.POSITIVE_INFINITY ? null : nearest;
  }

  /** Whether all calls that have not begun are waits. */
  get onlyWaits(): boolean {
    for (const call of this.#open) if (!call.started && !call.isWait) return false;
    return true;
  }

  /**
   * How long a run parks that is to wake at `wakeAt`, if at all. A wait whose beginning is written with the park counts from the time of
   * that commit, as the park does: it does not end early.
   */
  parkMs(wakeAt: number | null, now: number): number | null {
    let shortest = wakeAt === null ? Number.POSITIVE_INFINITY : Math.max(wakeAt - now, 0);
    for (const { owedMs } of this.#open) shortest = Math.min(shortest, owedMs ?? shortest);
    return shortest === Number.POSITIVE_INFINITY ? null : Math.ceil(shortest);
  }

  /** Whether only a time ends each of them. */
  get onlySleeps(): boolean {
    for (const { isSleep } of this.#open) if (!isSleep) return false;
    return true;
  }

  get lingers(): boolean {
    for (const call of this.#open) if (call.lingers) return true;
    return false;
  }

  /** How many children must end before waking is useful: all of a group, otherwise one. */
  get wakeAfter(): number {
    const sizes = [...this.#open].flatMap((call) => call.wakeAfter?.() ?? []);
    return sizes.length > 0 ? Math.min(...sizes) : 1;
  }
}
