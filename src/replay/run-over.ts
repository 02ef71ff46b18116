// Whether a run has ended while work of it continues, and the signal for user code that says so.

import type { Session } from "../engine/session.js";
import { HoldfastError } from "../kernel/error.js";

/** Abort reason for steps still running when their run has ended. */
export class RunOver extends HoldfastError {
  readonly code = "RUN_OVER";

  constructor(runId: string) {
    super(`Run ${runId} has ended; the result of this step is no longer needed.`);
  }
}

export class RunOverSignal {
  readonly #session: Session;
  /** Cancelled, timed out, or returned without awaiting its work. */
  #isOver = false;
  /** Created on first use: most runs never ask for the signal, and an AbortController is not cheap. */
  #over: AbortController | null = null;
  #signal: AbortSignal | null = null;
  /** Created on first use, too. */
  #callbacks: (() => void)[] | null = null;

  constructor(session: Session) {
    this.#session = session;
  }

  /** For user code: aborts when the claim is lost, the node's grace period ends, or the run has ended. */
  get signal(): AbortSignal {
    if (!this.#signal) {
      this.#over = new AbortController();
      if (this.#isOver) this.#over.abort(this.error());
      this.#signal = AbortSignal.any([this.#session.over.signal, this.#over.signal]);
    }
    return this.#signal;
  }

  throwIfOver(): void {
    this.#session.lost.throwIfAborted();
    if (this.#isOver) throw this.error();
  }

  happened(): void {
    this.#isOver = true;
    this.#over?.abort(this.error());
    for (const callback of this.#callbacks ?? []) callback();
  }

  /** Also when the run is only released: this session has ended. */
  onHappened(callback: () => void): void {
    this.#callbacks ??= [];
    this.#callbacks.push(callback);
    if (this.#isOver) callback();
  }

  error(): RunOver {
    return new RunOver(this.#session.run.runId);
  }
}
