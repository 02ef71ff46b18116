// A simulated case: a seed, and faults at numbered points of the history.

import { formatDuration } from "../../kernel/duration.js";

/**
 * `crash`: the process dies there. `pause`: it stands still for longer than its lease, and continues. `lostReply`: what it asked
 * for is done, and the answer is lost. `stop`: it is asked to stop, without a grace period.
 */
export type FaultKind = "crash" | "pause" | "lostReply" | "stop";

export const FAULT_KINDS: readonly FaultKind[] = ["crash", "pause", "lostReply", "stop"];

/** A fault at one point of a run. */
export interface SimulatedFault {
  /** What happens. */
  readonly kind: FaultKind;
  /** The number of the point. */
  readonly at: number;
  /** After a crash or a stop: when the process starts again. */
  readonly backAfterMs: number;
}

/** One execution of the program under faults: repeat it with `only`. */
export interface SimulatedCase {
  /** The seed of its chances. */
  readonly seed: number;
  /** The faults, in order. */
  readonly faults: readonly SimulatedFault[];
}

/** A place in a history at which a fault can happen. */
export interface Point {
  readonly label: string;
  readonly takes: readonly FaultKind[];
}

export function describeCase({ seed, faults }: SimulatedCase): string {
  const shown = faults.map(({ kind, at, backAfterMs }) => {
    const back = kind === "crash" || kind === "stop" ? `, back after ${formatDuration(backAfterMs)}` : "";
    return `${kind} at point ${at}${back}`;
  });
  return `seed ${seed}: ${shown.length > 0 ? shown.join("; ") : "no faults"}`;
}
