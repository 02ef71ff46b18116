// The settings of the nodes of a soak, and the messages they exchange with it.

import type { RetentionOptions } from "../src/kernel/setting/retention.js";

/** Clean-up comes every 30 rounds of housekeeping: every 6 s. */
export const SETTINGS = { concurrency: 50, timing: { housekeeping: 200 } } as const;
export const ROUND_MS = 6_000;

export interface SoakChild {
  readonly url: string;
  readonly name: string;
  readonly retention: RetentionOptions;
  /** Planted: each run leaves something in memory. */
  readonly leak: boolean;
}

export interface Usage {
  readonly heapMb: number;
  readonly rssMb: number;
  readonly handles: number;
}
