// A race between calls: the first to end wins, and the others are withdrawn.

import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { Call } from "./call.js";
import type { Replay } from "./replay.js";

/** Another branch of the race was first: this call was withdrawn. */
export class RaceLost extends HoldfastError {
  readonly code = "RACE_LOST";

  constructor(branch: string, winner: string) {
    super(`${JSON.stringify(branch)} lost its race against ${JSON.stringify(winner)} and was withdrawn.`);
  }
}

const NO_BRANCH =
  "must be the promise of a call of this context, and not of ctx.output: a delivery that loses would have used its key";

/** The branch that ended first, and with what. */
export interface Won {
  readonly winner: string;
  readonly value: unknown;
}

/**
 * `callsOf`: the calls that a promise of the context waits for. Endings are delivered a turn of the event loop apart, so
 * the losers are withdrawn before the next one is: at the same place of the journal in every replay. Nothing is written.
 */
export function race(
  replay: Replay,
  branches: Readonly<Record<string, Promise<unknown>>>,
  callsOf: (promise: Promise<unknown>) => readonly Call[] | undefined,
): { readonly promise: Promise<Won>; readonly calls: readonly Call[] } {
  const all = Object.entries(branches).map(([name, promise]) => {
    const calls = callsOf(promise);
    if (!calls) throw new InvalidInput(`race.${name}`, NO_BRANCH);
    return { name, promise, calls };
  });
  if (all.length === 0) throw new InvalidInput("race", "must have at least one branch");
  let winner: string | null = null;
  const promise = new Promise<Won>((resolve, reject) => {
    for (const { name, promise } of all) {
      const end = (settle: () => void) => {
        if (winner !== null) return;
        winner = name;
        for (const loser of all.filter((one) => one.name !== name)) {
          for (const call of loser.calls) replay.withdraw(call, new RaceLost(loser.name, name));
        }
        settle();
      };
      promise.then(
        (value) => end(() => resolve({ winner: name, value })),
        (error) => end(() => reject(error)),
      );
    }
  });
  return { promise, calls: all.flatMap(({ calls }) => calls) };
}
