// The cache of a node's results: by a key of the node's own, for a time, for all runs of the cluster.

import type { Session } from "../../engine/session.js";
import { payloadHash } from "../../kernel/codec/canonical.js";
import type { Codecs } from "../../kernel/codec/codecs.js";
import { type Duration, toMs } from "../../kernel/duration.js";
import { InvalidInput, LimitExceeded } from "../../kernel/error.js";
import type { Fields } from "../reducer.js";
import type { Keep } from "./long-term-store.js";

export interface CacheOptions<S> {
  /** What the result depends on. @default the whole state */
  readonly key?: (state: Readonly<S>) => unknown;
  /** How long a result is used. */
  readonly ttl: Duration;
}

export interface CacheRules {
  readonly key: (state: Fields) => unknown;
  readonly ttlMs: number;
}

/** A result, as it is recorded by a later run. */
export interface CachedResult {
  readonly update: Fields | null;
  readonly goto: readonly string[] | null;
}

/** A node keeps this many results: a new one takes the place of another with the same number. So the store is bounded without counting. */
const PLACES = 4096;

export function cacheRules(cache: CacheOptions<never> | undefined): CacheRules | null {
  if (cache === undefined) return null;
  const ttlMs = toMs(cache.ttl, "cache.ttl");
  if (ttlMs === 0) throw new InvalidInput("cache.ttl", "must be greater than zero");
  return { key: (cache.key as CacheRules["key"] | undefined) ?? ((state) => state), ttlMs };
}

export class NodeCache {
  readonly #session: Session;
  readonly #codecs: Codecs;
  readonly #space: string;
  readonly #hash: string;
  readonly #ttlMs: number;

  constructor(session: Session, codecs: Codecs, space: string, { rules, state }: { rules: CacheRules; state: Fields }) {
    this.#session = session;
    this.#codecs = codecs;
    this.#space = space;
    this.#hash = payloadHash(rules.key(state) ?? null, "cache.key");
    this.#ttlMs = rules.ttlMs;
  }

  get #key(): string {
    return String(Number.parseInt(this.#hash.slice(0, 8), 16) % PLACES);
  }

  async read(): Promise<CachedResult | null> {
    const kept = await this.#session.keptValue(this.#space, this.#key);
    if (!kept) return null;
    const { hash, ...result } = this.#codecs.decode(kept.value) as CachedResult & { readonly hash: string };
    return hash === this.#hash ? result : null;
  }

  /** Nothing for a result that is too large to be kept: it is computed again. */
  keeps(result: CachedResult): readonly Keep[] {
    try {
      const value = this.#codecs.encode({ ...result, hash: this.#hash }, "cached result");
      return [{ space: this.#space, key: this.#key, value, ttlMs: this.#ttlMs }];
    } catch (error) {
      if (error instanceof LimitExceeded) return [];
      throw error;
    }
  }
}
