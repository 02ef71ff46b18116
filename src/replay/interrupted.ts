// Thrown inside a step's function that needs an answer first: the step ends without an entry, and its function is called again.

import { HoldfastError } from "../kernel/error.js";

export class Interrupted extends HoldfastError {
  readonly code = "INTERRUPTED";
  /** Failed attempts so far: being interrupted is not one. Set by the call. */
  failures = 0;

  constructor(title: string) {
    super(`${title} waits for an answer; its function is called again with it. Let this error pass.`);
  }
}
