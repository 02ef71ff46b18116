// Runs seeds and fails at the first that breaks an invariant, with the command that replays it.

import { expect } from "vitest";
import { type SimulateOptions, simulate } from "../../src/simulator/simulate.js";

/** Answers how often what happened in all of them. `flag`: what the command that replays one needs besides. */
export async function expectSound(
  seeds: Iterable<number>,
  options: SimulateOptions = {},
  flag = "",
): Promise<Record<string, number>> {
  const tally: Record<string, number> = {};
  // Half the time would go into stacks of errors that nobody reads.
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
