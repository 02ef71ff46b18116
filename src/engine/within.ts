// Waits for something, but not for ever.

import { sleep, type World } from "../kernel/world.js";

/** What it answers, or null when it takes longer than that. */
export async function within<T>(world: World, ms: number, work: Promise<T>): Promise<T | null> {
  const timer = new AbortController();
  const late = sleep(world, ms, timer.signal).then(() => null);
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    timer.abort("answered");
  }
}
