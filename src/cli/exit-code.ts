// Exit codes, so that scripts need not parse messages.

import { HoldfastError } from "../kernel/error.js";

export const EXIT = {
  ok: 0,
  /** Not found, rejected, or a bug. */
  failed: 1,
  /** The command line, or a value on it, was not valid. */
  usage: 2,
  /** The database does not answer, or refuses the login. */
  unreachable: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const CODES: Readonly<Record<string, ExitCode>> = {
  COMMAND_MISUSED: EXIT.usage,
  DATABASE_NOT_SET: EXIT.usage,
  INVALID_INPUT: EXIT.usage,
  LIMIT_EXCEEDED: EXIT.usage,
  DATABASE_UNREACHABLE: EXIT.unreachable,
  STORE_UNAVAILABLE: EXIT.unreachable,
  STORE_REFUSED: EXIT.unreachable,
};

export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof HoldfastError ? (CODES[error.code] ?? EXIT.failed) : EXIT.failed;
}
