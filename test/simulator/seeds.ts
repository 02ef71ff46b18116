// Runs seeds and fails at the first that breaks an invariant, with the command that replays it.

import { expect } from "vitest";
import { type SimulateOptions, simulate } from "../../src/simulator/simulate.js";

/** Mixed histories in each of two files: with those of the other files more than 1,000. */
export const MIXED_SEEDS = Number(process.env["HOLDFAST_MIXED_SEEDS"] ?? 260);

/** Returns how often each thing happened in all of them. `flag`: extra option of the command that replays a seed. */
export async function expectSound(
  seeds: Iterable<number>,
  options: SimulateOptions = {},
  flag = "",
): Promise<Record<string, number>> {
  const tally: Record<string, number> = {};
  // Stack traces of expected errors would take half of the time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    for (const seed of seeds) {
      const verdict = await simulate(seed, options);
      for (const [what, times] of Object.entries(verdict.tally)) tally[what] = (tally[what] ?? 0) + times;
      if (verdict.violations.length > 0) Error.stackTraceLimit = stackTraceLimit;
      expect(verdict.violations, `replay: npm run simulate -- ${flag}--seed ${seed}`).toEqual([]);
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  return tally;
}

export function* range(first: number, count: number): Generator<number> {
  for (let seed = first; seed < first + count; seed++) yield seed;
}
