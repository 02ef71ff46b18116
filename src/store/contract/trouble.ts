// Which errors are the store's trouble and not the work's: the one place that decides what is held instead of failed.

import { RecordedError } from "../../kernel/codec/recorded-error.js";
import { HoldfastError } from "../../kernel/error.js";

/** The database is away, refuses this process (password, right, limit, read-only), or lacks our tables. */
const HELD: readonly unknown[] = ["STORE_UNAVAILABLE", "STORE_REFUSED", "SCHEMA_MISSING"];
/** What a repeat may not cure: a closed store, a schema of another release, a statement of ours that is wrong. */
const BROKEN: readonly unknown[] = ["STORE_FAILED", "STORE_CLOSED", "SCHEMA_TOO_NEW"];

/**
 * The same call succeeds once the store is right again: work that met it is held and tried again, and neither a step, an effect,
 * a task, an episode nor a run fails of it. Only what was thrown here and now: an error out of a journal has ended its work.
 */
export function isStoreTrouble(error: unknown): boolean {
  return HELD.includes(codeOf(error));
}

/** Nothing that the user's own code did, whether or not it passes. */
export function isOfTheStore(error: unknown): boolean {
  return isStoreTrouble(error) || BROKEN.includes(codeOf(error));
}

/** The code that is reported: PostgreSQL's own where there is one. */
export function troubleCode(error: unknown): string {
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : String(codeOf(error));
}

/** The data of the call cannot be stored, and nothing of it was: a store throws it, and the bad items are found by halving the call. */
export function isDataRefused(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && codeOf(error) === "DATA_REFUSED";
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && !(error instanceof RecordedError) ? (error as { code?: unknown }).code : undefined;
}
