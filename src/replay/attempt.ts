// One attempt of a step, as its function sees it. What most steps never ask for is created on first use: the signal.

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
  readonly idempotencyKey: string;
  readonly fence: bigint;
  readonly #call: AttemptedCall;
  #limit: AbortController | null = null;
  #signal: AbortSignal | null = null;
  #reason: unknown = null;

  /** Keys are fields and no getters: a function may pass `{ ...info }` on, which leaves getters out. */
  constructor(call: AttemptedCall, attempt: number) {
    const { runId, baseSeq, epoch } = call.replay.session.run;
    this.#call = call;
    this.attempt = attempt;
    // The base sequence changes when the journal starts over; a run retried from `last` keeps its keys.
    this.idempotencyKey = `${runId}:${baseSeq}:${call.kind}:${escaped(call.name)}:${call.key}`;
    this.fence = BigInt(epoch);
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

const escaped = (name: string) => (/[%:]/.test(name) ? name.replaceAll("%", "%25").replaceAll(":", "%3A") : name);
