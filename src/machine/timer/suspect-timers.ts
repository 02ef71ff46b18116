// Suspect timers: claimed before without an outcome, so one of them may kill the process that fires it.
//
// Only some of them are tried, and from the third attempt on one by one; the rest is released uncounted first. So the
// killer takes hardly any others with it, and they do not reach their last attempt because of it. (Fired one by one
// after all had been claimed, of 250 timers with a killer among them one innocent timer was given up.)

import type { World } from "../../kernel/world.js";
import type { TimerRecord } from "../../store/contract/machine/machines.js";

/** After one crash most of them are innocent, and should not wait. */
const SECOND = 50;
const LATER = 8;

/** A timer that failed in an orderly way has a recorded problem, and is not a suspect. */
export function isSuspect({ attempts, state, problem }: TimerRecord): boolean {
  return attempts > 1 && state === "pending" && problem === null;
}

/** In random order, so that the killer is not always before the same ones. */
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
