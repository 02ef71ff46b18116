// Values that outlive the runs of graphs, for programs outside of them: the long-term store, and the threads of conversations.

import { storeSpace } from "../../graph/node/spaces.js";
import type { RunsOptions } from "../runs.js";

/** A value with its key. */
export interface KeptEntry<T = unknown> {
  /** Its key. */
  readonly key: string;
  /** The value. */
  readonly value: T;
  /** Milliseconds since 1970: when it was written. */
  readonly at: number;
}

/** The same values as `ctx.store`. */
export interface ValueStore {
  /** The value of this key; undefined: there is none. */
  get<T = unknown>(space: string, key: string): Promise<T | undefined>;
  /** In the order of the keys; at most `limit` (100), after a key. */
  list<T = unknown>(
    space: string,
    options?: { readonly after?: string; readonly limit?: number },
  ): Promise<readonly KeptEntry<T>[]>;
  /** Stores a value under this key. */
  put(space: string, key: string, value: unknown): Promise<void>;
  /** Removes the value of this key. */
  delete(space: string, key: string): Promise<void>;
}

const PAGE = 100;

export function valueStore({ store, codecs, env }: RunsOptions): ValueStore {
  const write = async (space: string, key: string, value: ReturnType<typeof codecs.encode> | null) => {
    await store.kept.put([{ env, space: storeSpace(space), key, value, ttlMs: null }]);
  };
  return {
    get: async <T>(space: string, key: string) => {
      const kept = await store.kept.get(env, storeSpace(space), key);
      return kept ? (codecs.decode(kept.value) as T) : undefined;
    },
    list: async <T>(space: string, { after, limit = PAGE }: { after?: string; limit?: number } = {}) => {
      const page = { limit, ...(after !== undefined && { after }) };
      const rows = await store.kept.list({ env, space: storeSpace(space), ...page });
      return rows.map(({ key, value, at }) => ({ key, value: codecs.decode(value) as T, at }));
    },
    put: (space, key, value) => write(space, key, codecs.encode(value, "value")),
    delete: (space, key) => write(space, key, null),
  };
}
