// What the PostgreSQL store throws, in sentences that say what to do next.

import { HoldfastError } from "../../kernel/error.js";
import { sqlState } from "./sqlstate.js";

/** The database could not be reached, or kept failing, for longer than the store retries. */
export class StoreUnavailable extends HoldfastError {
  readonly code = "STORE_UNAVAILABLE";

  constructor(operation: string, afterMs: number, cause: unknown) {
    super(
      `The database did not carry out ${operation} within ${Math.round(afterMs)} ms (${brief(cause)}). ` +
        "Whether it was applied is unknown; the same call may be repeated safely.",
      { cause },
    );
  }
}

/** No connection was free, or none was answered, within the query's time. Repeated like any passing fault. */
export class ConnectTimeout extends HoldfastError {
  readonly code = "CONNECT_TIMEOUT";

  constructor() {
    super("No connection to the database within the query timeout. Is its pool large enough?");
  }
}

/** The call came after `close()`, or still waited for a connection then. Nothing was sent. */
export class StoreClosed extends HoldfastError {
  readonly code = "STORE_CLOSED";

  constructor() {
    super("The store is closed. Close it after everything that uses it has ended.");
  }
}

/** The server ended a transaction step in which no statement came for longer than the query timeout. */
export class TransactionIdle extends HoldfastError {
  readonly code = "TRANSACTION_IDLE";

  constructor() {
    super(
      "The transaction ran no statement for longer than the query timeout, and the server ended it. " +
        "Only SQL belongs into it: do what takes long in a step before or after, or raise queryTimeout.",
    );
  }
}

/** The database answered, and the answer will not change by trying again. */
export class StoreFailed extends HoldfastError {
  readonly code = "STORE_FAILED";

  constructor(operation: string, cause: unknown) {
    super(`The database refused ${operation}: ${brief(cause)}.`, { cause });
  }
}

/** A value that PostgreSQL cannot store. */
export class DataRefused extends HoldfastError {
  readonly code = "DATA_REFUSED";
  /** PostgreSQL's own code for what is wrong. */
  readonly sqlState: string;

  constructor(operation: string, cause: unknown) {
    super(`PostgreSQL cannot store the data of ${operation}: ${brief(cause)}.`, { cause });
    this.sqlState = sqlState(cause) ?? "";
  }
}

export class SchemaMissing extends HoldfastError {
  readonly code = "SCHEMA_MISSING";

  constructor(schema: string, detail: string) {
    super(`The schema ${schema} is not ready (${detail}). Run migrate() or \`npx holdfast migrate\` first.`);
  }
}

/** The schema was written by a release that this package can no longer, or not yet, work with. */
export class SchemaTooNew extends HoldfastError {
  readonly code = "SCHEMA_TOO_NEW";

  constructor(schema: string, oldest: string, mine: string) {
    super(`The schema ${schema} needs holdfast ${oldest} or newer, this is ${mine}. Update the package.`);
  }
}

/** Connection strings carry passwords: only the message travels, cut short. */
function brief(cause: unknown): string {
  const text = cause instanceof Error ? cause.message || cause.name : String(cause);
  const code = (cause as { code?: unknown } | null)?.code;
  return `${typeof code === "string" ? `${code}: ` : ""}${text.replace(/postgres(ql)?:\/\/\S+/g, "postgres://…").slice(0, 300)}`;
}
