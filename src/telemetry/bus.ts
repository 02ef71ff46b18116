// The bus: delivers telemetry events to listeners. Whatever a listener does, the emitting code continues undisturbed.
//
// Each part declares its events next to the code that emits them, as an interface of names and facts: `interface
// LeaseEvents { "lease.busy": { key: string } }`. A bus for several parts is a `Bus<LeaseEvents & ClaimEvents>`, and
// fits wherever a `Telemetry<LeaseEvents>` is required.

import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";

/** An event as listeners receive it: the facts, and when it was emitted on this process's wall clock. */
export type Told<Facts> = Facts & { readonly at: number };

/** Called with each event; what it throws is reported and stops nothing. */
export type Listener<Facts> = (event: Told<Facts>) => unknown;

/** What an emitting part requires. */
export interface Telemetry<Events> {
  /** Emits an event. It never throws. */
  emit<Name extends keyof Events & string>(name: Name, facts: Events[Name]): void;
}

/** Emits typed events and lets others listen. */
export interface Bus<Events> extends Telemetry<Events> {
  /** Returns a function that ends the subscription. */
  on<Name extends keyof Events & string>(name: Name, listener: Listener<Events[Name]>): () => void;
  /** Whether there is a listener: saves computing the facts. */
  listens(name: keyof Events & string): boolean;
  /** How many times a listener threw or rejected. */
  readonly listenerErrors: number;
}

/** Options of `createBus`. */
export interface BusOptions {
  /** The clock of its events; for tests. */
  readonly world?: World;
  /** Receives each error of a listener once. An error it throws itself is ignored. */
  readonly onListenerError?: (error: unknown, name: string) => void;
}

/** Creates a bus of typed events, for several nodes or parts that report to one place. */
export function createBus<Events>({ world = systemWorld(), onListenerError }: BusOptions = {}): Bus<Events> {
  // The box distinguishes two subscriptions of one function.
  const boxes = new Map<string, Set<{ readonly listener: Listener<unknown> }>>();
  let listenerErrors = 0;

  function report(error: unknown, name: string): void {
    listenerErrors++;
    try {
      onListenerError?.(error, name);
    } catch {
      // The error handler itself failed. The error is counted; the emitter must not be affected.
    }
  }

  return {
    emit(name, facts) {
      const listening = boxes.get(name);
      if (!listening) return;
      const event = { ...facts, at: world.wallNow() };
      // A copy: a listener added during delivery receives only later events.
      for (const { listener } of [...listening]) {
        try {
          const answer = listener(event);
          if (isThenable(answer)) answer.then(undefined, (error) => report(error, name));
        } catch (error) {
          report(error, name);
        }
      }
    },
    on(name, listener) {
      const box = { listener: listener as Listener<unknown> };
      const listening = boxes.get(name) ?? new Set();
      boxes.set(name, listening.add(box));
      return () => {
        listening.delete(box);
        if (listening.size === 0 && boxes.get(name) === listening) boxes.delete(name);
      };
    },
    listens: (name) => boxes.has(name),
    get listenerErrors() {
      return listenerErrors;
    },
  };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
