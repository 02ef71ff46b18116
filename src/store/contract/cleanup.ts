// Clean-up: removes rows that are no longer needed, in batches, by one node of an env at a time. Whole runs stay: see `prune`.

/**
 * - `generations`: journal entries and messages of a run's past generations.
 * - `leases`: named leases that ended or expired and were not acquired again. A key that comes back gets a higher epoch.
 * - `nodes`: nodes that stopped or died.
 * - `rates`: start times of rate limits that have passed.
 * - `debounces`: gathered events whose run was cancelled, skipped or pruned before it began.
 */
export const CLEAN_PARTS = ["generations", "leases", "nodes", "rates", "debounces"] as const;
export type CleanPart = (typeof CLEAN_PARTS)[number];

export interface CleanRound {
  readonly part: CleanPart;
  readonly env: string;
  /** Does nothing when a node of the env has done this part within this time; 0: in any case. */
  readonly everyMs: number;
  /** Rows that ended within this time are kept. */
  readonly keepMs: number;
  /** Rows removed at most. */
  readonly limit: number;
}

export interface Cleaned {
  readonly removed: number;
  /** There may be more to remove: call again with `everyMs: 0`. */
  readonly more: boolean;
}

/**
 * A message that a later call could send again under its key is remembered for this long, also when its generation has passed.
 * Not so the end of a child that completed, and a message whose key ends with its own id: these cannot come again.
 */
export const MESSAGE_MEMORY_MS = 3_600_000;

/** Nodes that are gone are kept for `keepMs`, and only those among this many newest starts of the env. */
export const KEPT_NODES = 1_000;
/** A node that has not stopped counts as gone after this time without a sign of life. */
export const SILENT_NODE_MS = 600_000;
