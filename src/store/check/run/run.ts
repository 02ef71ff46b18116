// Checks whether a run can be stored; an invalid one is refused alone, the others of its batch are stored.

import {
  dedupeKey,
  envName,
  keyScope,
  nodeName,
  programName,
  queueName,
  stackName,
  versionName,
} from "../../../kernel/name.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import { RECOVERIES } from "../../../kernel/run/recovery.js";
import { checkLimits } from "../limit/limits.js";
import {
  checkDelay,
  checkInteger,
  checkName,
  checkObject,
  checkOneOf,
  checkPayload,
  checkUuid,
  optional,
  type Problem,
} from "../value.js";

const PRIORITY_MIN = -(2 ** 31);
const LIFETIMES = ["live", "archived"];
const ON_MISMATCH = ["conflict", "skip"];

export function checkGroup(path: string, group: unknown): Problem {
  const problem = checkObject(path, group);
  if (problem) return problem;
  const { env, stack, queue, program, version } = group as Record<string, unknown>;
  return (
    checkName(envName, `${path}.env`, env) ??
    optional((at, value) => checkName(stackName, at, value))(`${path}.stack`, stack) ??
    checkName(queueName, `${path}.queue`, queue) ??
    checkName(programName, `${path}.program`, program) ??
    optional((at, value) => checkName(versionName, at, value))(`${path}.version`, version)
  );
}

/** `groups` remembers within one call what was found: the runs of a batch mostly share one group object. */
export function checkRun(path: string, run: unknown, key?: unknown, groups?: Map<RunGroup, Problem>): Problem {
  const problem = checkObject(path || "run", run);
  if (problem) return problem;
  const at = (field: string) => (path ? `${path}.${field}` : field);
  const { id, group, priority, delayMs, crashLimit, recovery, input, parentId, limits, deferred } = run as Record<
    string,
    unknown
  >;
  return (
    checkUuid(at("id"), id) ??
    checkGroupOnce(at("group"), group as RunGroup, groups) ??
    checkInteger(at("priority"), priority, PRIORITY_MIN) ??
    checkDelay(at("delayMs"), delayMs) ??
    checkInteger(at("crashLimit"), crashLimit, 1) ??
    optional((place, value) => checkOneOf(place, value, RECOVERIES))(at("recovery"), recovery) ??
    checkPayload(at("input"), input) ??
    optional(checkUuid)(at("parentId"), parentId) ??
    optional(checkLimits)(at("limits"), limits) ??
    optional(checkDeferral)(at("deferred"), deferred) ??
    (key === undefined ? null : checkKey(at("key"), key))
  );
}

/** The id of a refused run in the answer, whatever value was given. */
export function idOf(run: unknown): string {
  const id: unknown = (run as { id?: unknown } | null | undefined)?.id;
  return typeof id === "string" ? id : "";
}

function checkGroupOnce(path: string, group: RunGroup, groups?: Map<RunGroup, Problem>): Problem {
  const known = groups?.get(group);
  if (known !== undefined) return known;
  const problem = checkGroup(path, group);
  groups?.set(group, problem);
  return problem;
}

function checkDeferral(path: string, deferral: unknown): Problem {
  const problem = checkObject(path, deferral);
  if (problem) return problem;
  const { by, expiresInMs } = deferral as Record<string, unknown>;
  return checkName(nodeName, `${path}.by`, by) ?? optional(checkDelay)(`${path}.expiresInMs`, expiresInMs);
}

function checkKey(path: string, key: unknown): Problem {
  const problem = checkObject(path, key);
  if (problem) return problem;
  const { scope, key: text, payloadHash, lifetime, onMismatch } = key as Record<string, unknown>;
  return (
    checkName(keyScope, `${path}.scope`, scope) ??
    checkName(dedupeKey, `${path}.key`, text) ??
    checkName(dedupeKey, `${path}.payloadHash`, payloadHash) ??
    checkLifetime(`${path}.lifetime`, lifetime) ??
    checkOneOf(`${path}.onMismatch`, onMismatch, ON_MISMATCH)
  );
}

export function checkLifetime(path: string, lifetime: unknown): Problem {
  if (typeof lifetime !== "object" || lifetime === null) return checkOneOf(path, lifetime, LIFETIMES);
  return checkDelay(`${path}.forMs`, (lifetime as { forMs?: unknown }).forMs);
}
