// Errors of the PostgreSQL store, with messages that state what to do next.

import { HoldfastError } from "../../../kernel/error.js";
import { sqlState } from "./sqlstate.js";

/** The database could not be reached, or kept failing, for longer than the store retries. */
export class StoreUnavailable extends HoldfastError {
  readonly code = "STORE_UNAVAILABLE";

  /** Whether a statement was sent; false: nothing was changed. */
  readonly sent: boolean;

  /** `at`: its host and port. */
  constructor(
    operation: string,
    afterMs: number,
    cause: unknown,
    { sent = true, at }: { sent?: boolean; at?: string } = {},
  ) {
    const database = `The database${at === undefined ? "" : ` at ${at}`}`;
    const tried = `${operation} within ${Math.round(afterMs)} ms (${brief(cause)})`;
    super(
      sent
        ? `${database} did not carry out ${tried}. ` +
            "The statement was sent, but no answer came, so whether it was applied is unknown; the same call may be repeated safely."
        : `${database} could not be reached for ${tried}. ` +
            "Nothing was sent and nothing was changed; the same call may be repeated. Check that the server runs, its host and its port.",
      { cause },
    );
    this.sent = sent;
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
        "It should run SQL only: do slow work in a step before or after it, or raise queryTimeout.",
    );
  }
}

/** The step chose an isolation level under which its run's row, changed meanwhile by a renewal or a message, cannot be written. */
export class TransactionOutdated extends HoldfastError {
  readonly code = "TRANSACTION_OUTDATED";

  constructor(level: string, cause: unknown) {
    super(
      `A transaction step at the isolation level ${level} was under way while its run was renewed or written to, so its result could not be recorded, and all of it was undone. ` +
        "Keep it shorter than `renewEvery`, or leave it at read committed and lock the rows that it depends on.",
      { cause },
    );
  }
}

/** No connection could be opened, and not because the server was away: a certificate, a URL, a password that cannot be had. */
export class ConnectRefused extends HoldfastError {
  readonly code = "CONNECT_REFUSED";

  constructor(cause: unknown) {
    super(`No connection to the database: ${brief(cause)}. Check its URL, TLS settings and credentials.`, { cause });
  }
}

/** The server, or the way to it, refuses this process. Nothing was written; nodes hold their work until it is accepted again. */
export class StoreRefused extends HoldfastError {
  readonly code = "STORE_REFUSED";
  /** PostgreSQL's own code, or the driver's. */
  readonly sqlState: string;

  constructor(operation: string, cause: unknown) {
    const code = sqlState(cause) ?? "";
    super(`The database refused ${operation} (${brief(cause)}). ${nextActionFor(code)}`, { cause });
    this.sqlState = code;
  }
}

/** A server that takes no writes was reached: a standby, or a primary on its way down. */
export class ReadOnlyServer extends HoldfastError {
  readonly code = "READ_ONLY_SERVER";

  constructor() {
    super("The server is read-only. Point the URL at the primary.");
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

/** The schema is not there, or older than this package needs. Run `npx holdfast migrate`. */
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

function nextActionFor(code: string): string {
  if (code.startsWith("28")) return "Correct the user name or password; then the same call may be repeated.";
  if (code === "42501") return "Grant the role the rights that SECURITY.md lists; then the same call may be repeated.";
  if (code === "3D000" || code === "57P04") return "Correct the database's name; then the same call may be repeated.";
  return "See the server's log, correct its set-up; then the same call may be repeated.";
}

/** Connection strings carry passwords: only the message travels, cut short. */
export function brief(cause: unknown): string {
  const text = cause instanceof Error ? cause.message || cause.name : String(cause);
  const code = (cause as { code?: unknown } | null)?.code;
  return `${typeof code === "string" ? `${code}: ` : ""}${text.replace(/postgres(ql)?:\/\/\S+/g, "postgres://…").slice(0, 300)}`;
}
