// Classifies errors of the driver and the server for the caller: repeat, wait for an operator, refuse the data, or give up.

export type Fault =
  /** The same call may work in a moment; whether this one did is unknown. */
  | "transient"
  /** The server or the way to it refuses this process: a password, a right, a certificate. It works again when an operator has fixed that. */
  | "refused"
  /** The values cannot be stored; repeating is useless. */
  | "data"
  /** The schema is missing or older than this package. */
  | "schema"
  /** A bug in Holdfast: the same statement would be refused again. */
  | "fatal";

const TRANSIENT_CLASSES = new Set(["08", "53"]);
const TRANSIENT_STATES = new Set([
  "40001", // serialization failure
  "40P01", // deadlock
  "55P03", // lock timeout
  "57014", // statement timeout or cancel
  "57P01", // admin shutdown
  "57P02", // crash shutdown
  "57P03", // starting up
  "57P05", // idle session timeout
  "25006", // read only: a standby, or a server about to fail over
  "READ_ONLY_SERVER", // ours: found before anything was written
  "25P03", // idle in transaction timeout
  "26000", // a prepared statement is gone: it was discarded on a shared connection
]);
/** Authorisation, system errors, configuration, and what a server says whose files are damaged. */
const REFUSED_CLASSES = new Set(["28", "58", "F0", "XX"]);
const REFUSED_STATES = new Set([
  "42501", // a missing right
  "3D000", // no such database
  "57P04", // the database was dropped
  "CONNECT_REFUSED", // ours: see connections.ts
]);
const DATA_CLASSES = new Set(["22", "23", "54"]);
const SCHEMA_STATES = new Set(["42P01", "42703", "3F000", "42883"]);
const DRIVER_CODES = new Set([
  "CONNECT_TIMEOUT", // ours: see connections.ts
  "ECONNRESET",
  "ECONNREFUSED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EMFILE",
  "ENFILE",
]);
/** The driver gives these no code. */
const DRIVER_MESSAGES = [
  "Connection terminated",
  "Query read timeout",
  "timeout exceeded when trying to connect",
  "timeout expired",
  "Client has encountered a connection error and is not queryable",
  "Client was closed and is not queryable",
  "read ECONNRESET",
];

export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

export function faultOf(error: unknown): Fault {
  const code = sqlState(error);
  if (code !== undefined) {
    // A protocol violation is a bug in Holdfast: the same bytes would be refused again. PgBouncer sends 08P01 whenever it
    // has no server to offer; only a server's own error names the routine that raised it.
    if (code === "08P01" && (error as { routine?: unknown }).routine !== undefined) return "fatal";
    if (isOutdated(error)) return "transient";
    // A Unix socket's file is gone while the server restarts.
    if (code === "ENOENT" && (error as { syscall?: unknown }).syscall === "connect") return "transient";
    if (DRIVER_CODES.has(code) || TRANSIENT_STATES.has(code) || TRANSIENT_CLASSES.has(code.slice(0, 2))) {
      return "transient";
    }
    if (REFUSED_STATES.has(code) || (isServerState(code) && REFUSED_CLASSES.has(code.slice(0, 2)))) return "refused";
    if (DATA_CLASSES.has(code.slice(0, 2))) return "data";
    if (SCHEMA_STATES.has(code)) return "schema";
  }
  const message = error instanceof Error ? error.message : "";
  return DRIVER_MESSAGES.some((known) => message.includes(known)) ? "transient" : "fatal";
}

/** One of PostgreSQL's own codes. */
export function isServerState(code: string | undefined): code is string {
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !DRIVER_CODES.has(code);
}

/**
 * Whether the server is the wrong one for a statement of ours: a standby, or one without our tables. Every connection that was
 * opened before may lead to it.
 */
export function isWrongServer(error: unknown): boolean {
  const code = sqlState(error);
  return (
    code === "25006" ||
    code === "READ_ONLY_SERVER" ||
    code === "SCHEMA_MISSING" ||
    (isServerState(code) && SCHEMA_STATES.has(code))
  );
}

/** Whether the connection is still good after this error: the server itself answered it, and stays. */
export function connectionSurvives(error: unknown): boolean {
  const code = sqlState(error);
  return isServerState(code) && !/^(08|57P|25P|25006|26000)/.test(code) && !isOutdated(error);
}

/** A migration has added a column since the statement was prepared on this connection; a new one prepares it again. */
function isOutdated(error: unknown): boolean {
  return sqlState(error) === "0A000" && (error as { routine?: unknown }).routine === "RevalidateCachedQuery";
}
