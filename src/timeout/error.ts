// Errors of the timeout sweeper: a claim that expired while its handler ran, and a handler without a valid result.

import { HoldfastError } from "../kernel/error.js";

/** Abort reason of a handler's `signal`: another node may fire the same timeout from now on. */
export class TimeoutClaimOver extends HoldfastError {
  readonly code = "TIMEOUT_CLAIM_OVER";
  /** The instance of the timeout. */
  readonly instance: string;

  constructor(instance: string, claimMs: number) {
    super(
      `The claim on the timeout of "${instance}" expired after ${claimMs} ms. ` +
        "The handler's conditional write decides which node fires it. Make the handler faster or raise claimDuration.",
    );
    this.instance = instance;
  }
}

/** A handler returned neither "fired" nor "stale". */
export class TimeoutUnanswered extends HoldfastError {
  readonly code = "TIMEOUT_UNANSWERED";
  /** The instance of the timeout. */
  readonly instance: string;

  constructor(instance: string, answer: unknown) {
    super(
      `fire() returned ${typeof answer === "string" ? JSON.stringify(answer.slice(0, 40)) : typeof answer} for the timeout of ` +
        `"${instance}". Return "fired" if your conditional write moved the instance, "stale" if it did not.`,
    );
    this.instance = instance;
  }
}
