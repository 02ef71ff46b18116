// Listeners by key, called in this process: such as sweepers that wait for the deadlines of one scope.

export class KeyedListeners<Value> {
  readonly #byKey = new Map<string, Set<(value: Value) => void>>();

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /** Returns a function that removes it. A function that is added twice is called twice. */
  add(key: string, listener: (value: Value) => void): () => void {
    const listeners = this.#byKey.get(key) ?? new Set();
    const own = (value: Value) => listener(value);
    this.#byKey.set(key, listeners.add(own));
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.#byKey.get(key) === listeners) this.#byKey.delete(key);
    };
  }

  call(key: string, value: Value): void {
    // A copy: a listener may remove itself, or add another.
    for (const listener of [...(this.#byKey.get(key) ?? [])]) listener(value);
  }

  callAll(value: Value): void {
    for (const key of [...this.#byKey.keys()]) this.call(key, value);
  }
}
