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
  #closed: "to ordinary work" | "to all" | null = null;

  close(): void {
    this.#closed = "to all";
  }

  /** A cancel of a run that cleans up: only its clean-up may begin. */
  closeToOrdinaryWork(): void {
    this.#closed ??= "to ordinary work";
  }

  get isClosed(): boolean {
    return this.#closed !== null;
  }

  isClosedTo({ isCleanup }: { readonly isCleanup: boolean }): boolean {
    return this.#closed === "to all" || (this.#closed !== null && !isCleanup);
  }

  expectOpen(call: { readonly isCleanup: boolean }): void {
    if (this.isClosedTo(call)) throw new NodeStopping("A stop of the run was requested; nothing more of it begins.");
  }
}
