// What a sweeper aborts or counts as a failure.

import { HoldfastError } from "../kernel/error.js";

/** The reason a handler's `signal` aborts with: from now on another node may fire the same timeout. */
export class TimeoutClaimOver extends HoldfastError {
  readonly code = "TIMEOUT_CLAIM_OVER";
  readonly instance: string;

  constructor(instance: string, claimMs: number) {
    super(
      `The claim on the timeout of "${instance}" lasted ${claimMs} ms and is over. ` +
        "Let the conditional write decide who fires it; make the handler faster or raise claimDuration.",
    );
    this.instance = instance;
  }
}

/** A handler answered neither "fired" nor "stale". */
export class TimeoutUnanswered extends HoldfastError {
  readonly code = "TIMEOUT_UNANSWERED";
  readonly instance: string;

  constructor(instance: string, answer: unknown) {
    super(
      `fire() answered ${typeof answer === "string" ? JSON.stringify(answer.slice(0, 40)) : typeof answer} for the timeout of ` +
        `"${instance}". Answer "fired" when your conditional write moved the instance, "stale" when it did not.`,
    );
    this.instance = instance;
  }
}
