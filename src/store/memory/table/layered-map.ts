// A map over another one: reads fall through, writes stay above. It is what an open transaction sees.

export class LayeredMap<K, V> extends Map<K, V> {
  readonly #under: ReadonlyMap<K, V>;
  /** The value below when a key was first written here: if it has changed, another writer was faster. */
  readonly #covered = new Map<K, V | undefined>();
  readonly #removed = new Set<K>();

  constructor(under: ReadonlyMap<K, V>) {
    super();
    this.#under = under;
  }

  override get(key: K): V | undefined {
    if (super.has(key)) return super.get(key);
    return this.#removed.has(key) ? undefined : this.#under.get(key);
  }

  override has(key: K): boolean {
    return super.has(key) || (!this.#removed.has(key) && this.#under.has(key));
  }

  override set(key: K, value: V): this {
    this.#cover(key);
    this.#removed.delete(key);
    return super.set(key, value);
  }

  override delete(key: K): boolean {
    const there = this.has(key);
    this.#cover(key);
    this.#removed.add(key);
    super.delete(key);
    return there;
  }

  /** Whether the value below of a key written here has changed since. */
  isOvertaken(): boolean {
    return [...this.#covered].some(([key, value]) => this.#under.get(key) !== value);
  }

  mergeInto(under: Map<K, V>): void {
    for (const key of this.#removed) under.delete(key);
    for (const [key, value] of this) under.set(key, value);
  }

  #cover(key: K): void {
    if (!this.#covered.has(key)) this.#covered.set(key, this.#under.get(key));
  }
}
