// What an operation is whose reply or request is lost, and what the lists of operations share.

import { randomUUID } from "node:crypto";
import type { Store } from "../../../src/store/contract/store.js";
import { group } from "../scene.js";

export interface Operation {
  readonly name: string;
  /** The statement whose reply or request is lost. */
  readonly statement: string;
  /** Prepares the store and returns the call to make; called once per store with the same ids. */
  readonly prepare: (store: Store) => Promise<() => Promise<unknown>>;
  /** Its answer is what this attempt did; a repeated one finds nothing left to do. */
  readonly answersWhatItDid?: true;
  /** The store does not repeat renewals: the lease keeper gets the error at once, and renews again. */
  readonly repeatedByCaller?: true;
}

export const ids = () => ({ owner: randomUUID(), token: randomUUID() });
export const ownGroup = () => group(`q-${randomUUID()}`);
export const key = () =>
  ({ scope: "s", key: randomUUID(), payloadHash: "h", lifetime: "live", onMismatch: "conflict" }) as const;
