// Checks each kind of effect. The compiler requires a line for each new kind.

import { InvalidInput } from "../../../kernel/error.js";
import { versionName } from "../../../kernel/name.js";
import type { Effect, FailEffect } from "../../../kernel/run/effect.js";
import { checkRun } from "../run/run.js";
import {
  checkDelay,
  checkInteger,
  checkName,
  checkObject,
  checkOneOf,
  checkPayload,
  checkText,
  checkUuid,
  optional,
  type Problem,
} from "../value.js";

type EffectChecks = {
  readonly [Kind in Effect["kind"]]: (path: string, effect: Extract<Effect, { kind: Kind }>) => Problem;
};

const ENDS: readonly FailEffect["as"][] = ["failed", "dead", "cancelled", "skipped", "quarantined"];

const CHECKS: EffectChecks = {
  append: (path, { entry }) => checkEntry(`${path}.entry`, entry),
  take: (path, { messageKey, messageId }) =>
    checkText(`${path}.messageKey`, messageKey) ?? optional(checkUuid)(`${path}.messageId`, messageId),
  enqueue: (path, { name, run }) => checkText(`${path}.name`, name) ?? checkRun(`${path}.run`, run),
  complete: (path, { output }) => checkPayload(`${path}.output`, output),
  fail: (path, { as, reason }) => checkOneOf(`${path}.as`, as, ENDS) ?? checkPayload(`${path}.reason`, reason),
  retry: (path, { delayMs, error }) => checkDelay(`${path}.delayMs`, delayMs) ?? checkPayload(`${path}.error`, error),
  park: (path, { wakeInMs, wakeAfter, seenInboxSeq }) =>
    (wakeInMs === null ? null : checkDelay(`${path}.wakeInMs`, wakeInMs)) ??
    checkInteger(`${path}.wakeAfter`, wakeAfter, 1) ??
    checkInteger(`${path}.seenInboxSeq`, seenInboxSeq, 0, Number.MAX_VALUE),
  continue: (path, { input, reopen }) => checkPayload(`${path}.input`, input) ?? checkReopen(`${path}.reopen`, reopen),
  misfit: (path, { build, reason }) =>
    checkName(versionName, `${path}.build`, build) ?? checkPayload(`${path}.reason`, reason),
  handBack: () => null,
  pause: () => null,
};

/** Its kind is known. */
export function checkEffect(path: string, effect: Effect): Problem {
  return (CHECKS[effect.kind] as (path: string, effect: Effect) => Problem)(path, effect);
}

function checkReopen(path: string, keys: unknown): Problem {
  if (!Array.isArray(keys)) return new InvalidInput(path, "must be a list of message keys");
  for (let i = 0; i < keys.length; i++) {
    const problem = checkText(`${path}[${i}]`, keys[i]);
    if (problem) return problem;
  }
  return null;
}

function checkEntry(path: string, entry: unknown): Problem {
  const problem = checkObject(path, entry);
  if (problem) return problem;
  const { kind, name, key, payload } = entry as Record<string, unknown>;
  return (
    checkText(`${path}.kind`, kind) ??
    checkText(`${path}.name`, name) ??
    optional(checkText)(`${path}.key`, key) ??
    optional(checkPayload)(`${path}.payload`, payload)
  );
}
