// Where a run's work is let in: closed as soon as a request to stop is being taken in.

import { NodeStopping } from "../engine/node-stopping.js";

/** What others said to the run and is not in its journal yet. */
export interface Mail {
  readonly isDue: boolean;
  take(): Promise<void>;
}

/**
 * The caller of a cancel or a pause learns from the journal that its request was taken in, and relies on it that nothing more begins.
 * So the gate is closed before that is written, and whatever begins asks here in the same turn.
 */
export class StopGate {
  #closed = false;

  close(): void {
    this.#closed = true;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  expectOpen(): void {
    if (this.#closed) throw new NodeStopping("The run was asked to stop; nothing more of it begins.");
  }
}
