// Wake-ups between parts that must not know each other: made before them and given to each, so that none has to be patched later.

type Listeners<News extends readonly unknown[]> = Set<(...news: News) => void>;

export class Wakeups<Topics extends { readonly [Topic in keyof Topics]: readonly unknown[] }> {
  readonly #listeners: { [Topic in keyof Topics]?: Listeners<Topics[Topic]> } = {};

  /** Returns a function that ends the subscription. */
  on<Topic extends keyof Topics>(topic: Topic, listener: (...news: Topics[Topic]) => void): () => void {
    const listeners: Listeners<Topics[Topic]> = this.#listeners[topic] ?? new Set();
    this.#listeners[topic] = listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Calls every listener of the topic; there may be none. */
  wake<Topic extends keyof Topics>(topic: Topic, ...news: Topics[Topic]): void {
    for (const listener of this.#listeners[topic] ?? []) listener(...news);
  }
}
