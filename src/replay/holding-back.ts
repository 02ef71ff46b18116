// Calls that hold back all endings until they are in the journal: what they answer depends on whether it continues beyond them.

import type { Call } from "./call.js";

export class HoldingBack {
  #calls: Set<Call> | null = null;

  add(call: Call): void {
    this.#calls ??= new Set();
    this.#calls.add(call);
  }

  /** `isOpen`: it has no ending yet. */
  isOn(isOpen: (call: Call) => boolean): boolean {
    if (!this.#calls) return false;
    for (const call of this.#calls) if (call.running && isOpen(call)) return true;
    return false;
  }
}
