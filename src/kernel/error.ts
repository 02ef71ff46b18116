// The base of every error Holdfast throws: a stable code, a plain sentence, the next action.

/** The base of every error that Holdfast throws: a stable code, a plain sentence and the next action. */
export abstract class HoldfastError extends Error {
  /** Stable across releases: match on this, not on the message. */
  abstract readonly code: string;

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }

  /** For logs and answers: what happened and what to do next, without passwords. */
  toJSON(): ErrorJson {
    const message = withoutSecrets(this.message);
    const end = message.indexOf(". ");
    const { cause } = this;
    return {
      name: this.name,
      code: this.code,
      message,
      next: end < 0 ? null : message.slice(end + 2),
      ...(cause instanceof Error && { cause: causeJson(cause) }),
    };
  }
}

/** An error as plain data, without passwords. */
export interface ErrorJson {
  /** The name of its class. */
  readonly name: string;
  /** Its stable code. */
  readonly code: string;
  /** Its message. */
  readonly message: string;
  /** The message after its first sentence: what follows from it and what to do. Null: the message is one sentence. */
  readonly next: string | null;
  /** The error behind it. */
  readonly cause?: { readonly name: string; readonly code: string | null; readonly message: string };
}

/** Connection strings carry passwords. */
export function withoutSecrets(text: string): string {
  return text.replace(/\b([a-z][a-z0-9+]*:\/\/)\S*@/gi, "$1…@");
}

function causeJson(cause: Error): NonNullable<ErrorJson["cause"]> {
  const { code } = cause as { code?: unknown };
  return { name: cause.name, code: typeof code === "string" ? code : null, message: withoutSecrets(cause.message) };
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
  /** The argument or field that is too large. */
  readonly path: string;
  /** The limit. */
  readonly limit: number;
  /** What it was. */
  readonly actual: number;

  constructor(path: string, what: string, limit: number, actual: number) {
    super(`${path}: ${what} is ${actual}, the limit is ${limit}`);
    this.path = path;
    this.limit = limit;
    this.actual = actual;
  }
}
