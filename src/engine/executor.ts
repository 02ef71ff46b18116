// One executor of a node: its slots and a claim loop of its own, so that a full one keeps no other from claiming.

import { ClaimLoop, type ClaimLoopOptions } from "./claim-loop.js";
import { Slots } from "./slots.js";

export interface ExecutorOptions extends Omit<ClaimLoopOptions, "groupIds"> {
  readonly name: string;
}

export class Executor {
  readonly name: string;
  /** Runs worked on at the same time. */
  readonly size: number;
  readonly slots: Slots;
  readonly loop: ClaimLoop;
  /** What it claims from: the numbers may change when the store has lost them. */
  groupIds: readonly number[] = [];

  constructor({ name, ...options }: ExecutorOptions) {
    this.name = name;
    this.size = options.size;
    this.slots = new Slots(options.size);
    this.loop = new ClaimLoop({ ...options, groupIds: () => this.groupIds });
  }

  /** There may be work in these groups; none named: in any. */
  hint(groupIds: readonly number[]): void {
    if (groupIds.length === 0 || groupIds.some((id) => this.groupIds.includes(id))) this.loop.hint();
  }
}
