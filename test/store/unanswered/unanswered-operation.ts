// What an operation is whose reply or request is lost, and what those who list them share.

import { randomUUID } from "node:crypto";
import type { Store } from "../../../src/store/contract/store.js";
import { group } from "../scene.js";

export interface Operation {
  readonly name: string;
  /** The statement whose reply or request is lost. */
  readonly statement: string;
  /** Prepares the store and answers what to do then; called once per store with the same ids. */
  readonly prepare: (store: Store) => Promise<() => Promise<unknown>>;
  /** Its answer tells what this attempt did; a repeated one finds nothing left to do. */
  readonly answersWhatItDid?: true;
  /** Renewals are not repeated by the store: the lease keeper is told at once, and asks again. */
  readonly repeatedByCaller?: true;
}

export const ids = () => ({ owner: randomUUID(), token: randomUUID() });
export const ownGroup = () => group(`q-${randomUUID()}`);
export const key = () =>
  ({ scope: "s", key: randomUUID(), payloadHash: "h", lifetime: "live", onMismatch: "conflict" }) as const;
