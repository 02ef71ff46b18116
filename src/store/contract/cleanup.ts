// Clean-up: removes rows that are no longer needed, in batches, by one node of an env at a time.

import { SHORTEST_AUDIT_DAYS } from "../../kernel/setting/retention.js";

/**
 * - `generations`: journal entries and messages of a run's past generations.
 * - `leases`: named leases that ended or expired and were not acquired again. A key that comes back gets a higher epoch.
 * - `nodes`: nodes that stopped or died.
 * - `rates`: start times of rate limits that have passed.
 * - `kept`: kept values that have expired.
 * - `debounces`: gathered events whose run was cancelled, skipped or pruned before it began.
 *
 * By the retention that the store was opened with:
 * - `instances`: ended instances of state machines, with their events and timers.
 * - `claims`: which nodes lost claims on a run, except the last one of each run.
 * - `audit`: rows of the audit that are at least 30 days old.
 * - `keys`: keys that were reserved for a time which has passed.
 * - `runs`: ended runs with everything that belongs to them; a child after its parent.
 */
export const RETAINED_PARTS = ["instances", "claims", "audit", "keys", "runs"] as const;
export type RetainedPart = (typeof RETAINED_PARTS)[number];
export const CLEAN_PARTS = ["generations", "leases", "nodes", "rates", "debounces", "kept", ...RETAINED_PARTS] as const;
export type CleanPart = (typeof CLEAN_PARTS)[number];

export function isRetained(part: CleanPart): part is RetainedPart {
  return (RETAINED_PARTS as readonly CleanPart[]).includes(part);
}

export interface CleanRound {
  readonly part: CleanPart;
  readonly env: string;
  /** Does nothing when a node of the env has done this part within this time; 0: in any case. */
  readonly everyMs: number;
  /** Rows that ended within this time are kept. Omitted: as long as the retention of the store says, for the parts that it has. */
  readonly keepMs?: number;
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

/** A younger row of the audit is never removed: in PostgreSQL, a trigger refuses it. */
export const SHORTEST_AUDIT_MS = SHORTEST_AUDIT_DAYS * 86_400_000;
