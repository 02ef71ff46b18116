// What the author of a store provides to run the cases.

import type { Store } from "../../store/contract/store.js";
import type { Transaction } from "../../store/contract/transaction.js";

/** Cases share one store and run one after another: sweeps and wake-ups look at the whole store. */
export interface StoreHarness {
  /** The store under test, empty. */
  readonly store: Store;
  /** Opens a transaction of the caller's own, runs `fn` in it and ends it so. */
  transaction<T>(fn: (tx: Transaction) => Promise<T>, end: "commit" | "rollback"): Promise<T>;
  /** Moves the store's clock on by at least `ms`: a virtual clock jumps, a real one is waited for. */
  advance(ms: number): Promise<void>;
}
