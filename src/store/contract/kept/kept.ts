// Kept values: small values of an env by space and key, with or without an expiry. They belong to no run, and outlive the runs that
// write them: results of graph nodes, threads, the long-term store, and the streams of runs.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { Claim } from "../../../kernel/run/claim.js";
import type { Transaction } from "../transaction.js";

export interface KeptValue {
  readonly key: string;
  readonly value: Payload;
  /** Milliseconds since 1970: when it was written, and when it expires. */
  readonly at: number;
  readonly until: number | null;
}

export interface KeepValue {
  readonly env: string;
  readonly space: string;
  readonly key: string;
  /** Null removes it. */
  readonly value: Payload | null;
  /** Null: it stays until it is removed. */
  readonly ttlMs: number | null;
}

export interface KeptQuery {
  readonly env: string;
  readonly space: string;
  /** Keys after this one. */
  readonly after?: string;
  readonly limit: number;
}

export interface KeepOptions {
  /** Written when this transaction commits. */
  readonly tx?: Transaction;
  /** Written only while this claim is held. */
  readonly under?: Claim;
}

export interface KeptStore {
  /** Null: there is none, or it has expired. */
  get(env: string, space: string, key: string): Promise<KeptValue | null>;
  /** In the order of the keys, by code point. Without those that have expired. */
  list(query: KeptQuery): Promise<readonly KeptValue[]>;
  /** All or none; of two values for one key the last counts. `lost`: the claim is, and nothing was written. */
  put(values: readonly KeepValue[], options?: KeepOptions): Promise<{ readonly outcome: "kept" | "lost" }>;
}
