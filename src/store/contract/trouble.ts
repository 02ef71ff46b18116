// Which errors are the store's trouble and not the work's: the one place that decides what is held instead of failed.

import { HoldfastError } from "../../kernel/error.js";

/** The database is away, refuses this process (password, right, limit, read-only), or lacks our tables. */
const HELD = new Set(["STORE_UNAVAILABLE", "STORE_REFUSED", "SCHEMA_MISSING"]);
const ALL = new Set([...HELD, "STORE_FAILED", "STORE_CLOSED", "SCHEMA_TOO_NEW"]);

/**
 * The same call succeeds once the store is right again: work that met it is held and tried again, and neither a step, an effect,
 * a task, an episode nor a run fails of it. Only errors that were thrown here and now: one that was recorded has ended its work.
 */
export function isStoreTrouble(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && HELD.has(error.code);
}

/** Also what a repeat may not cure: a closed store, a schema of another release, a statement of ours that is wrong. */
export function isOfTheStore(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && ALL.has(error.code);
}

/** What is told of it: PostgreSQL's own code where there is one. */
export function troubleCode(error: HoldfastError): string {
  const { code } = (error.cause ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : error.code;
}
