// The base of every error Holdfast throws: a stable code, a plain sentence, the next action.

export abstract class HoldfastError extends Error {
  /** Stable across releases: match on this, not on the message. */
  abstract readonly code: string;

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An argument cannot be accepted; nothing was written. */
export class InvalidInput extends HoldfastError {
  readonly code = "INVALID_INPUT";
  /** The argument or field, as the caller would write it: `input.items[3].price`. */
  readonly path: string;

  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.path = path;
  }
}

/** A limit of size, length or depth was exceeded; nothing was written. */
export class LimitExceeded extends HoldfastError {
  readonly code = "LIMIT_EXCEEDED";
  readonly path: string;
  readonly limit: number;
  readonly actual: number;

  constructor(path: string, what: string, limit: number, actual: number) {
    super(`${path}: ${what} is ${actual}, the limit is ${limit}`);
    this.path = path;
    this.limit = limit;
    this.actual = actual;
  }
}
