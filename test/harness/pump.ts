// One direction of a proxied connection: passes chunks on in order, at once, delayed, or held back.

/** "pass" at once; a number delays each chunk by as many milliseconds; "blackhole" holds everything until it changes. */
export type ProxyMode = "pass" | "blackhole" | number;

export class Pump {
  readonly #mode: () => ProxyMode;
  readonly #deliver: (chunk: Buffer | null) => void;
  readonly #queue: { chunk: Buffer | null; arrivedAt: number }[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(mode: () => ProxyMode, deliver: (chunk: Buffer | null) => void) {
    this.#mode = mode;
    this.#deliver = deliver;
  }

  /** Null is the end of the stream. */
  push(chunk: Buffer | null): void {
    this.#queue.push({ chunk, arrivedAt: performance.now() });
    this.run();
  }

  /** Delivers what is due; call it when the mode has changed. */
  run(): void {
    clearTimeout(this.#timer);
    for (;;) {
      const next = this.#queue[0];
      const mode = this.#mode();
      if (next === undefined || mode === "blackhole") return;
      const waitMs = mode === "pass" ? 0 : next.arrivedAt + mode - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.run(), waitMs);
        return;
      }
      this.#queue.shift();
      this.#deliver(next.chunk);
    }
  }

  discard(): void {
    clearTimeout(this.#timer);
    this.#queue.length = 0;
  }
}
