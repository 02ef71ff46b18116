// Marks the calls that a step's work makes before its first await: a step makes no calls.

export class StepWork {
  #isRunning = false;

  /** True while a step's work runs synchronously, until its first await. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  call<Info, Tx, T>(work: (info: Info, tx: Tx) => T, info: Info, tx: Tx): T {
    this.#isRunning = true;
    try {
      return work(info, tx);
    } finally {
      this.#isRunning = false;
    }
  }
}
