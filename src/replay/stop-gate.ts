// Admits new work of a run; closed as soon as a request to stop is being taken in.

import { NodeStopping } from "../engine/node-stopping.js";

/** Messages to the run that are not in its journal yet. */
export interface Mail {
  readonly isDue: boolean;
  take(): Promise<void>;
}

/**
 * The caller of a cancel or pause learns from the journal that its request was taken in, and may rely on nothing more
 * beginning. So the gate closes before that entry is written, and work that begins checks it in the same turn.
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
    if (this.#closed) throw new NodeStopping("A stop of the run was requested; nothing more of it begins.");
  }
}
