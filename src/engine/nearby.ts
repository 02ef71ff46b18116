// Tells those in the same process who watch a run that it has written something: they look at once instead of soon.

export class Nearby {
  readonly #watchers = new Map<string, Set<() => void>>();

  /** Answers a function that ends it. */
  watch(runId: string, look: () => void): () => void {
    const watching = this.#watchers.get(runId) ?? new Set();
    this.#watchers.set(runId, watching.add(look));
    return () => {
      watching.delete(look);
      if (watching.size === 0) this.#watchers.delete(runId);
    };
  }

  tell(runId: string): void {
    for (const look of this.#watchers.get(runId) ?? []) look();
  }
}
