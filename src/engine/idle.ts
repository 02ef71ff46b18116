// Waits until a node has nothing to do: because it hands back what it holds, or because nothing is left.

import { sleep, type World, within } from "../kernel/world.js";
import type { Session } from "./session.js";

/** How long an aborted step may take to end, so that its run can be handed back. */
const ABORTED_GRACE_MS = 1_000;
const LOOK_EVERY_MS = 10;

export interface HandBackOptions {
  readonly world: World;
  readonly graceMs: number;
  readonly held: () => Iterable<Session>;
  /** Claimed runs, those that wait for a slot included. */
  readonly active: () => number;
  /** False: the drain was called off, or the node stops. */
  readonly isOn: () => boolean;
  /** Resolves when the claim call under way has returned: before that the node could claim again what it hands back. */
  readonly lastClaim: () => Promise<unknown>;
}

/** Sessions end with their step, or are aborted after the grace. Returns how many are left; null: it was called off. */
export async function handBackAll(options: HandBackOptions): Promise<number | null> {
  const { world, graceMs, held, active, isOn, lastClaim } = options;
  const graceUntil = world.monotonicNow() + graceMs;
  while (isOn() && active() > 0 && world.monotonicNow() < graceUntil + ABORTED_GRACE_MS) {
    for (const session of held()) {
      if (!session.stopping) session.stop(lastClaim());
      if (world.monotonicNow() >= graceUntil) session.expire();
    }
    await sleep(world, LOOK_EVERY_MS);
  }
  return isOn() ? active() : null;
}

export interface UntilIdleOptions {
  readonly world: World;
  readonly timeoutMs: number;
  /** Looks for work now; returns how many runs each executor claimed, null where the look failed. */
  readonly look: () => Promise<readonly (number | null)[]>;
  readonly active: () => number;
  readonly isStopping: () => boolean;
}

/** For processes that execute what is there and end. */
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
