// Reports every call of a store: which operation, how long it took, and whether it was answered.
//
// Derived from the table of operations, so that none is left out. While nothing listens, a call costs one look at the bus.

import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import type { Method, OperationName } from "../store/operation.js";
import { mapOperations, methodOf } from "../store/operations.js";

/** One call to the store. */
export interface StoreCall {
  /** The operation, such as `runs.claim`. */
  readonly operation: OperationName;
  /** Until its answer, with the time in a batch, repetitions after lost answers and, of `runs.transact`, the caller's work. */
  readonly durationMs: number;
  /** Whether the store answered. */
  readonly outcome: "answered" | "failed";
  /** Why it failed; null when it was answered. */
  readonly error: unknown;
}

/** Emitted by nodes. Too frequent for a log: a logger does not get it. */
export interface StoreEvents {
  /** A call to the store has ended. */
  "store.called": StoreCall;
}

export interface StoreCallListener {
  readonly world: World;
  readonly listens: () => boolean;
  readonly called: (call: StoreCall) => void;
}

const origins = new WeakMap<Store, Store>();

/** The answers are the store's own promises: whether a call is reported changes nothing for its caller. */
export function reportedStore(store: Store, { world, listens, called }: StoreCallListener): Store {
  const reported = mapOperations((operation): Method => {
    const call = methodOf(store, operation);
    return (...args) => {
      if (!listens()) return call(...args);
      const startedAt = world.monotonicNow();
      const report = (outcome: StoreCall["outcome"], error: unknown) =>
        called({ operation, durationMs: world.monotonicNow() - startedAt, outcome, error });
      const answer = call(...args);
      if (answer instanceof Promise) {
        answer.then(
          () => report("answered", null),
          (error) => report("failed", error),
        );
      } else report("answered", null);
      return answer;
    };
  });
  origins.set(reported, store);
  return reported;
}

/** The store behind a reported one: what the nodes and clients of a process have in common. */
export function originOf(store: Store): Store {
  return origins.get(store) ?? store;
}
