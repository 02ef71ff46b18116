// One attempt of a step, as its function sees it. What most steps never ask for is created on first use: the signal, the keys.

import type { Replay } from "./replay.js";

/** The step that is attempted. */
export interface AttemptedCall {
  readonly replay: Replay;
  readonly kind: string;
  readonly name: string;
  readonly key: string;
}

/** A `StepInfo`. */
export class Attempt {
  readonly attempt: number;
  readonly #call: AttemptedCall;
  #limit: AbortController | null = null;
  #signal: AbortSignal | null = null;
  #reason: unknown = null;

  constructor(call: AttemptedCall, attempt: number) {
    this.#call = call;
    this.attempt = attempt;
  }

  /** The base sequence changes when the journal starts over; a run retried from `last` keeps its keys. */
  get idempotencyKey(): string {
    const { replay, kind, name, key } = this.#call;
    const { runId, baseSeq } = replay.session.run;
    return `${runId}:${baseSeq}:${kind}:${name.replaceAll("%", "%25").replaceAll(":", "%3A")}:${key}`;
  }

  get fence(): bigint {
    return BigInt(this.#call.replay.session.run.epoch);
  }

  get signal(): AbortSignal {
    if (!this.#signal) {
      this.#limit = new AbortController();
      if (this.#reason !== null) this.#limit.abort(this.#reason);
      this.#signal = AbortSignal.any([this.#call.replay.signal, this.#limit.signal]);
    }
    return this.#signal;
  }

  /** Remembered, because an attempt that timed out may ask for its signal only later. */
  abort(reason: unknown): void {
    this.#reason = reason;
    this.#limit?.abort(reason);
  }
}
