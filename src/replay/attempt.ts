// One attempt of a step, as its function sees it. The signal is created on first use: most steps never ask, and it is not cheap.

import type { Replay } from "./replay.js";

/** A `StepInfo`. */
export class Attempt {
  readonly idempotencyKey: string;
  readonly fence: bigint;
  readonly attempt: number;
  readonly #replay: Replay;
  #limit: AbortController | null = null;
  #signal: AbortSignal | null = null;
  #reason: unknown = null;

  constructor(replay: Replay, call: string, attempt: number) {
    const { runId, baseSeq, epoch } = replay.session.run;
    // The base sequence changes when the journal starts over; a run retried from `last` keeps its keys.
    this.idempotencyKey = `${runId}:${baseSeq}:${call}`;
    this.fence = BigInt(epoch);
    this.attempt = attempt;
    this.#replay = replay;
  }

  get signal(): AbortSignal {
    if (!this.#signal) {
      this.#limit = new AbortController();
      if (this.#reason !== null) this.#limit.abort(this.#reason);
      this.#signal = AbortSignal.any([this.#replay.signal, this.#limit.signal]);
    }
    return this.#signal;
  }

  /** Remembered, because an attempt that timed out may ask for its signal only later. */
  abort(reason: unknown): void {
    this.#reason = reason;
    this.#limit?.abort(reason);
  }
}
