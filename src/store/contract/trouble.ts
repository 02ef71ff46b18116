// Classifies errors: those of the store hold the work and do not fail it. The only place that decides this.

import { RecordedError } from "../../kernel/codec/recorded-error.js";
import { HoldfastError } from "../../kernel/error.js";

/** The database is unavailable, refuses this process (password, right, limit, read-only), or lacks Holdfast's tables. */
const HELD: readonly unknown[] = ["STORE_UNAVAILABLE", "STORE_REFUSED", "SCHEMA_MISSING"];
/** Errors that a repeat may not fix: a closed store, a schema of another release, an invalid statement of Holdfast. */
const BROKEN: readonly unknown[] = ["STORE_FAILED", "STORE_CLOSED", "SCHEMA_TOO_NEW"];

/**
 * The same call succeeds once the store works again: the work is held and tried again, and no step, effect, task, episode or run
 * fails because of it. Only for errors thrown in this process: an error read from a journal has ended its work.
 */
export function isStoreTrouble(error: unknown): boolean {
  return HELD.includes(codeOf(error));
}

/** An error that the user's code did not cause, temporary or not. */
export function isOfTheStore(error: unknown): boolean {
  return isStoreTrouble(error) || BROKEN.includes(codeOf(error));
}

/** The code that is reported: PostgreSQL's own where there is one. */
export function troubleCode(error: unknown): string {
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : String(codeOf(error));
}

/** The data of the call cannot be stored, and none of it was: a store throws it, and the caller finds the bad items by halving the call. */
export function isDataRefused(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && codeOf(error) === "DATA_REFUSED";
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && !(error instanceof RecordedError) ? (error as { code?: unknown }).code : undefined;
}
