// The scheduler: one heap of events ordered by virtual time. Between two events everything that is ready runs to its end.

import { setImmediate } from "node:timers";
import { HoldfastError } from "../kernel/error.js";

export interface SimEvent {
  readonly time: number;
  /** Orders events of different owners at the same moment: drawn, so that no order is taken for granted. */
  readonly tie: number;
  /** Events of one owner at the same moment keep their order, as the timers of a process do. */
  readonly order: number;
  /** null: cancelled. */
  run: (() => void) | null;
}

/** Time does not move on: something loops without waiting. */
export class SimulationStuck extends HoldfastError {
  readonly code = "SIMULATION_STUCK";
}

const MOST_EVENTS = 2_000_000;

/** All microtasks that are ready run before this resolves. */
export function boundary(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Immediates that are queued together take one turn of the event loop; between two of them all microtasks run. */
const AT_ONCE = 64;

export class Scheduler {
  /** Virtual milliseconds since the beginning. */
  now = 0;
  events = 0;
  readonly #seed: number;
  readonly #heap: SimEvent[] = [];
  #order = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  after(ms: number, owner: number, run: () => void): SimEvent {
    const time = this.now + Math.max(ms, 0);
    const event: SimEvent = { time, tie: this.#tie(owner, time), order: this.#order++, run };
    this.#push(event);
    return event;
  }

  /** Until that time, or until `done` says so after an event. */
  run(until: number, done: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      let queued = 0;
      let ended = false;
      const step = (): void => {
        try {
          ended = !this.#next(until);
          if (ended) resolve();
          else if (queued === 0) for (; queued < AT_ONCE; queued++) setImmediate(turn);
        } catch (error) {
          ended = true;
          reject(error);
        }
      };
      const turn = (): void => {
        queued--;
        if (ended) return;
        // What the event before made ready has run.
        ended = done();
        if (ended) resolve();
        else step();
      };
      step();
    });
  }

  /** False: nothing is left until that time, which has come. */
  #next(until: number): boolean {
    while (this.#heap.length > 0 && this.#heap[0]!.time <= until) {
      const event = this.#pop();
      if (!event.run) continue;
      this.now = event.time;
      if (++this.events > MOST_EVENTS) throw new SimulationStuck(`more than ${MOST_EVENTS} events, at ${this.now} ms`);
      event.run();
      return true;
    }
    this.now = Math.max(this.now, until);
    return false;
  }

  #tie(owner: number, time: number): number {
    let bits = Math.imul(this.#seed ^ Math.imul(owner + 1, 0x9e3779b1), 0x85ebca6b) ^ Math.floor(time * 1024);
    bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d);
    return (bits ^ (bits >>> 13)) >>> 0;
  }

  #push(event: SimEvent): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): SimEvent {
    const heap = this.#heap;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function before(a: SimEvent, b: SimEvent): boolean {
  return a.time - b.time < 0 || (a.time === b.time && (a.tie < b.tie || (a.tie === b.tie && a.order < b.order)));
}
