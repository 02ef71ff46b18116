// The options of a step, checked and with their defaults.

import { toMs } from "../kernel/duration.js";
import { stepKey } from "../kernel/name.js";
import { retryPolicy } from "../kernel/run/retry.js";
import type { StepCallOptions } from "../replay/step-call.js";
import type { StepOptions } from "./context.js";

type StepRules = Pick<StepCallOptions, "policy" | "timeoutMs" | "atMostOnce" | "finishOnAbort" | "retryIf">;

export const NO_OPTIONS: StepOptions = {};
/** Of a step without options, as nearly all are. */
export const PLAIN = rulesOf(NO_OPTIONS, "step");

export function rulesOf(options: StepOptions, path: string): StepRules {
  const policy = retryPolicy(options.retry, path);
  if (options.key !== undefined) stepKey(options.key, `key of ${path}`);
  const timeoutMs = options.timeout === undefined ? null : toMs(options.timeout, path);
  const { atMostOnce = false, finishOnAbort = false, retryIf } = options;
  return { policy, timeoutMs, atMostOnce, finishOnAbort, retryIf };
}
