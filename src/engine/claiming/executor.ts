// An executor of a node: its slots and its own claim loop, so that a full executor does not keep others from claiming.

import { ClaimLoop, type ClaimLoopOptions } from "./claim-loop.js";
import { Slots } from "./slots.js";

export interface ExecutorOptions extends ClaimLoopOptions {
  readonly name: string;
}

export class Executor {
  readonly name: string;
  /** Runs worked on at the same time. */
  readonly size: number;
  readonly slots: Slots;
  readonly loop: ClaimLoop;
  readonly #groupIds: () => readonly number[];

  constructor({ name, ...options }: ExecutorOptions) {
    this.name = name;
    this.size = options.size;
    this.slots = new Slots(options.size);
    this.loop = new ClaimLoop(options);
    this.#groupIds = options.groupIds;
  }

  /** There may be work in these groups; none named: in any. */
  wake(groupIds: readonly number[]): void {
    if (groupIds.length > 0) {
      const own = this.#groupIds();
      if (!groupIds.some((id) => own.includes(id))) return;
    }
    this.loop.wake();
  }
}
