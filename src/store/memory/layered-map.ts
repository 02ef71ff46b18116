// A map over another one: reads fall through, writes stay above. What an open transaction sees.

export class LayeredMap<K, V> extends Map<K, V> {
  readonly #under: ReadonlyMap<K, V>;
  /** What lay below when a key was first written here: if that has changed, somebody else was faster. */
  readonly #covered = new Map<K, V | undefined>();

  constructor(under: ReadonlyMap<K, V>) {
    super();
    this.#under = under;
  }

  override get(key: K): V | undefined {
    return super.has(key) ? super.get(key) : this.#under.get(key);
  }

  override has(key: K): boolean {
    return super.has(key) || this.#under.has(key);
  }

  override set(key: K, value: V): this {
    if (!this.#covered.has(key)) this.#covered.set(key, this.#under.get(key));
    return super.set(key, value);
  }

  /** Of the keys written here, the first whose value below is no longer what it was. */
  overtakenKey(): K | undefined {
    for (const [key, value] of this.#covered) if (this.#under.get(key) !== value) return key;
    return undefined;
  }
}
