// Drains a node: hands back what it holds, as when it stops, but the node stays.

import { sleep, type World } from "../kernel/world.js";
import type { Session } from "./session.js";

/** How long an aborted step may take to end, so that its run can be handed back. */
export const ABORTED_GRACE_MS = 1_000;
export const LOOK_EVERY_MS = 10;

export interface DrainOptions {
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
export async function drain(options: DrainOptions): Promise<number | null> {
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
