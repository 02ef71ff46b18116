// An error read from storage: what user code catches when a step, a child or a run failed, the first time too.

import { PayloadCorrupt } from "./codec.js";
import type { Payload } from "./payload.js";

/** An error as it is stored. Plain data, bounded in size by stored-error.ts. */
export interface StoredError {
  /** The name of the error. */
  readonly name: string;
  /** Its message. */
  readonly message: string;
  /** Its code. */
  readonly code?: string | number;
  /** Its stack. */
  readonly stack?: string;
  /** The error behind it. */
  readonly cause?: StoredError;
  /** The parts of an AggregateError. */
  readonly errors?: readonly StoredError[];
  /** The error's own `details`, or the object that was thrown instead of an error. */
  readonly details?: unknown;
}

/**
 * Carries the name, code, message, stack, cause, parts and details of the thrown error, but not its class, which the
 * reading process may not have. Match on `name` or `code`.
 */
export class RecordedError extends Error {
  /** The code of the thrown error. */
  readonly code?: string | number;
  /** The parts of an AggregateError. */
  readonly errors?: readonly RecordedError[];
  /** The `details` of the thrown error, or the object that was thrown instead of an error. */
  readonly details?: unknown;

  constructor(stored: StoredError) {
    super(stored.message, stored.cause === undefined ? undefined : { cause: new RecordedError(stored.cause) });
    hidden(this, "name", stored.name);
    hidden(this, "stack", stored.stack ?? `${stored.name}: ${stored.message}`);
    if (stored.code !== undefined) this.code = stored.code;
    if (stored.errors !== undefined) this.errors = stored.errors.map((part) => new RecordedError(part));
    if ("details" in stored) this.details = stored.details;
  }
}

export function decodeError(stored: unknown): RecordedError {
  return new RecordedError(expectStoredError(stored, 0));
}

/** Its code, or its name, readable without the application's codecs. Null: there is none, or it was written by a codec other than `json`. */
export function errorClass(payload: Payload | null): string | null {
  if (payload?.codec !== "json") return null;
  try {
    const { code, name } = (JSON.parse(payload.data) ?? {}) as { code?: unknown; name?: unknown };
    const found = code ?? name;
    return typeof found === "string" ? found : null;
  } catch {
    return null;
  }
}

/**
 * The writer stores 5 levels of causes and parts, and a note if there were more. Anything much deeper was not written
 * by it.
 */
const DEEPEST = 20;

function expectStoredError(value: unknown, depth: number): StoredError {
  const stored = value as Partial<Record<keyof StoredError, unknown>> | null;
  if (typeof stored !== "object" || stored === null || depth > DEEPEST) return corrupt();
  if (typeof stored.name !== "string" || typeof stored.message !== "string") return corrupt();
  if (stored.stack !== undefined && typeof stored.stack !== "string") return corrupt();
  if (!["undefined", "string", "number"].includes(typeof stored.code)) return corrupt();
  if (stored.cause !== undefined) expectStoredError(stored.cause, depth + 1);
  if (stored.errors !== undefined && !Array.isArray(stored.errors)) return corrupt();
  for (const part of (stored.errors as unknown[] | undefined) ?? []) expectStoredError(part, depth + 1);
  return stored as StoredError;
}

function corrupt(): never {
  throw new PayloadCorrupt("it should be an error with a name and a message");
}

/** As on every Error: readable, but not enumerable. */
function hidden(error: Error, key: string, value: string): void {
  Object.defineProperty(error, key, { value, writable: true, enumerable: false, configurable: true });
}
