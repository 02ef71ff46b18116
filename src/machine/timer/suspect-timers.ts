// Timers that were taken before and of which nothing was heard: one of them may kill whoever fires it.
//
// Only some of them are tried, and from the third time on one by one; the rest goes back uncounted before that. So the one that kills
// takes hardly any of the others with it, and they do not come to their last attempt because of it. (Fired one by one after all were
// taken, of 250 with a killer among them one was given up that had done nothing.)

import type { World } from "../../kernel/world.js";
import type { TimerRecord } from "../../store/contract/machine/machines.js";

/** After one crash most of them are innocent, and should not wait. */
const SECOND = 50;
const LATER = 8;

/** One that has failed in order has a problem to show, and is none. */
export function isSuspect({ attempts, state, problem }: TimerRecord): boolean {
  return attempts > 1 && state === "pending" && problem === null;
}

/** In no order, so that the killer is not always before the same ones. */
export function drawSuspects(
  suspects: readonly TimerRecord[],
  world: World,
): { readonly now: readonly TimerRecord[]; readonly together: boolean; readonly back: readonly TimerRecord[] } {
  const together = suspects.every(({ attempts }) => attempts === 2);
  const few = together ? SECOND : LATER;
  const drawn = suspects.map((timer) => ({ timer, order: world.random() })).sort((a, b) => a.order - b.order);
  const timers = drawn.map(({ timer }) => timer);
  return { now: timers.slice(0, few), together, back: timers.slice(few) };
}
