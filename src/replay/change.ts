// What a replay waits for while its function is idle: a call that ended, news from outside, a deadline.

import type { World } from "../kernel/world.js";

export class Change {
  /** Something changed since the function was last found idle. */
  isNew = false;
  #wake: (() => void) | null = null;

  happened(): void {
    this.isNew = true;
    this.#wake?.();
    this.#wake = null;
  }

  /** Resolves with the next change, or after this time. */
  next(timeout: { readonly world: World; readonly ms: number } | null = null): Promise<void> {
    return new Promise((resolve) => {
      const cancel = timeout?.world.after(timeout.ms, resolve);
      this.#wake = () => {
        cancel?.();
        resolve();
      };
    });
  }
}
