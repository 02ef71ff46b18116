// A conformance case: a name, and a function over a store that throws when the contract is violated.

import type { StoreHarness } from "./harness.js";
import { Scene } from "./scene.js";

/** One case that every store must pass. */
export interface ConformanceCase {
  /** What the case shows. */
  readonly name: string;
  /** The noun it belongs to, such as `runs`. */
  readonly group: string;
  /** Throws `ConformanceFailure` when the store answers otherwise than the contract says. */
  run(harness: StoreHarness): Promise<void>;
}

export function cases(
  group: string,
  named: Readonly<Record<string, (scene: Scene) => Promise<void>>>,
): ConformanceCase[] {
  return Object.entries(named).map(([name, play]) => ({ name, group, run: (harness) => play(new Scene(harness)) }));
}
