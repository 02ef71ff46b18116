// Waits until a node has nothing to do: for processes that execute what is there and end.

import { sleep, type World, within } from "../kernel/world.js";
import { LOOK_EVERY_MS } from "./drain.js";

export interface UntilIdleOptions {
  readonly world: World;
  readonly timeoutMs: number;
  /** Looks for work now; returns how many runs each executor claimed, null where the look failed. */
  readonly look: () => Promise<readonly (number | null)[]>;
  readonly active: () => number;
  readonly isStopping: () => boolean;
}

export async function untilIdle({ world, timeoutMs, look, active, isStopping }: UntilIdleOptions): Promise<boolean> {
  const until = world.monotonicNow() + timeoutMs;
  for (;;) {
    const leftMs = until - world.monotonicNow();
    if (leftMs <= 0 || isStopping()) return false;
    if (active() === 0) {
      const claimed = await within(world, leftMs, look());
      if (claimed?.every((count) => count === 0) && active() === 0) return true;
    }
    await sleep(world, Math.min(LOOK_EVERY_MS, leftMs));
  }
}
