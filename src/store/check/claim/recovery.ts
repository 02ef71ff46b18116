// Checks the filters for orphans and for the runs of other stacks.

import { InvalidInput } from "../../../kernel/error.js";
import { envName, stackName } from "../../../kernel/name.js";
import { RECOVERIES } from "../../../kernel/run/recovery.js";
import { checkGroup } from "../run/run.js";
import {
  checkDelay,
  checkInteger,
  checkLimit,
  checkName,
  checkObject,
  checkOneOf,
  checkUuid,
  optional,
  type Problem,
} from "../value.js";

export function checkOrphanFilter(filter: unknown): Problem {
  const problem = checkObject("filter", filter);
  if (problem) return problem;
  const { env, stack, staleMs, limit, after } = filter as Record<string, unknown>;
  return (
    optional((path, value) => checkName(envName, path, value))("env", env) ??
    optional((path, value) => checkName(stackName, path, value))("stack", stack) ??
    checkDelay("staleMs", staleMs) ??
    checkLimit("limit", limit) ??
    optional(checkUuid)("after", after)
  );
}

export function checkDecisions(decisions: unknown): Problem {
  if (!Array.isArray(decisions)) return new InvalidInput("decisions", "must be an array");
  const seen = new Set<unknown>();
  for (const [i, decision] of decisions.entries()) {
    const path = `decisions[${i}]`;
    const { runId, epoch, policy } = (decision ?? {}) as Record<string, unknown>;
    const problem =
      checkObject(path, decision) ??
      checkUuid(`${path}.runId`, runId) ??
      checkInteger(`${path}.epoch`, epoch, 0, Number.MAX_SAFE_INTEGER) ??
      checkOneOf(`${path}.policy`, policy, RECOVERIES);
    if (problem) return problem;
    if (seen.has(runId)) return new InvalidInput(path, "decides on a run that was decided on before in this call");
    seen.add(runId);
  }
  return null;
}

export function checkStackQuery(query: unknown): Problem {
  const problem = checkObject("query", query);
  if (problem) return problem;
  const { env, stacks, own, programs } = query as Record<string, unknown>;
  if (stacks !== null && !Array.isArray(stacks)) return new InvalidInput("stacks", "must be an array, or null for all");
  if (!Array.isArray(programs)) return new InvalidInput("programs", "must be an array");
  const isStack = (path: string, value: unknown) => checkName(stackName, path, value);
  return (
    checkName(envName, "env", env) ??
    optional(isStack)("own", own) ??
    (stacks ?? []).map((stack: unknown) => isStack("stacks", stack)).find((found: Problem) => found !== null) ??
    programs.map((one, i) => checkGroup(`programs[${i}]`, { env, ...one })).find((found) => found !== null) ??
    null
  );
}
