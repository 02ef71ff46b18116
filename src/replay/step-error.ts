// What ends a step without a result.

import { HoldfastError } from "../kernel/error.js";

/** Throw it in a step when another attempt is useless. */
export class PermanentError extends HoldfastError {
  /** `PERMANENT`, unless the error has a code of its own. */
  readonly code: string = "PERMANENT";
}

/** The step had no result within its timeout; its late result is ignored. */
export class StepTimeout extends HoldfastError {
  readonly code = "STEP_TIMEOUT";

  constructor(title: string, ms: number) {
    super(`${title} had no result within ${ms} ms.`);
  }
}

/** An at-most-once step was begun and its node died or stopped: its outcome is unknown, and it is not tried again. */
export class StepInterrupted extends PermanentError {
  override readonly code = "STEP_INTERRUPTED";

  constructor(title: string) {
    super(
      `${title} was begun on a node that died or stopped. It may have taken effect; an at-most-once step is not repeated.`,
    );
  }
}
