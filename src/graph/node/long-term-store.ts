// `ctx.store`: values by space and key that outlive the run. A node's writes are committed with its result, or not at all.

import type { Session } from "../../engine/session.js";
import type { Codecs } from "../../kernel/codec/codecs.js";
import { dedupeKey } from "../../kernel/name.js";
import type { KeepValue } from "../../store/contract/kept/kept.js";
import { storeSpace } from "./spaces.js";

/** Values that outlive a graph's run, for `ctx.store`. */
export interface LongTermStore {
  /** Undefined: there is none. Sees what this attempt has put. */
  get<T = unknown>(space: string, key: string): Promise<T | undefined>;
  /** In the order of the keys; at most `limit` (100), after a key. What this attempt has put is not among them. */
  list<T = unknown>(
    space: string,
    options?: { readonly after?: string; readonly limit?: number },
  ): Promise<readonly { readonly key: string; readonly value: T }[]>;
  /** Written with the node's result. An attempt that fails writes nothing. */
  put(space: string, key: string, value: unknown): void;
  /** Removes the value when the node's result is recorded. */
  delete(space: string, key: string): void;
}

/** A value to be kept, without its env. */
export type Keep = Omit<KeepValue, "env">;

const PAGE = 100;

/** The store as one attempt sees it. */
export class AttemptStore implements LongTermStore {
  readonly #session: Session;
  readonly #codecs: Codecs;
  readonly #puts = new Map<string, Keep>();

  constructor(session: Session, codecs: Codecs) {
    this.#session = session;
    this.#codecs = codecs;
  }

  /** What is written with the attempt's result. */
  get keeps(): readonly Keep[] {
    return [...this.#puts.values()];
  }

  async get<T>(space: string, key: string): Promise<T | undefined> {
    const put = this.#puts.get(idOf(space, key));
    const value = put ? put.value : ((await this.#session.keptValue(storeSpace(space), key))?.value ?? null);
    return value === null ? undefined : (this.#codecs.decode(value) as T);
  }

  async list<T>(space: string, { after, limit = PAGE }: { after?: string; limit?: number } = {}) {
    const kept = await this.#session.keptValues(storeSpace(space), { limit, ...(after !== undefined && { after }) });
    return kept.map(({ key, value }) => ({ key, value: this.#codecs.decode(value) as T }));
  }

  put(space: string, key: string, value: unknown): void {
    checkNames(space, key);
    const payload = this.#codecs.encode(value, `store.put(${JSON.stringify(space)}, ${JSON.stringify(key)})`);
    this.#puts.set(idOf(space, key), { space: storeSpace(space), key, value: payload, ttlMs: null });
  }

  delete(space: string, key: string): void {
    checkNames(space, key);
    this.#puts.set(idOf(space, key), { space: storeSpace(space), key, value: null, ttlMs: null });
  }
}

/** At once: refused with the node's result, it would be no failure of the node. */
function checkNames(space: string, key: string): void {
  dedupeKey(storeSpace(space), "store.space");
  dedupeKey(key, "store.key");
}

const idOf = (space: string, key: string) => JSON.stringify([space, key]);
