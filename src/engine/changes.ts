// Tells those who wait for a session that something changed from outside.

export class Changes {
  readonly #listeners: (() => void)[] = [];
  #waiting: (() => void)[] = [];

  /** Calls it with every change. Returns a function that ends it. */
  on(listener: () => void): () => void {
    this.#listeners.push(listener);
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1);
    };
  }

  /** Resolves with the next change. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  happened(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
    for (const listener of [...this.#listeners]) listener();
  }
}
