// Checks the registration of a node before anything is written.

import { InvalidInput } from "../../../kernel/error.js";
import { envName, executorName, nodeName, queueName, stackName, versionName } from "../../../kernel/name.js";
import { NODE_MODES } from "../../../kernel/node-mode.js";
import {
  checkInteger,
  checkName,
  checkObject,
  checkOneOf,
  checkUuid,
  LONGEST_DELAY_MS,
  optional,
  type Problem,
} from "../value.js";

export function checkNode(node: unknown): Problem {
  const problem = checkObject("node", node);
  if (problem) return problem;
  const { incarnation, identity, name, env, stack, build, serves, executors, alone, heartbeatMs, leaseMs, mode } =
    node as Record<string, unknown>;
  const { presenceGraceMs, reclaims } = node as Record<string, unknown>;
  return (
    checkUuid("incarnation", incarnation) ??
    checkName(nodeName, "identity", identity) ??
    checkName(nodeName, "name", name) ??
    checkName(envName, "env", env) ??
    optional((path, value) => checkName(stackName, path, value))("stack", stack) ??
    optional((path, value) => checkName(versionName, path, value))("build", build) ??
    optional(checkGroupIds)("serves", serves) ??
    optional(checkExecutors)("executors", executors) ??
    optional(checkBoolean)("alone", alone) ??
    optional(checkInterval)("heartbeatMs", heartbeatMs) ??
    optional(checkInterval)("leaseMs", leaseMs) ??
    optional((path, ms) => checkInteger(path, ms, 0, LONGEST_DELAY_MS))("presenceGraceMs", presenceGraceMs) ??
    optional(checkBoolean)("reclaims", reclaims) ??
    optional((path, value) => checkOneOf(path, value, NODE_MODES))("mode", mode)
  );
}

export function checkGroupIds(path: string, ids: unknown): Problem {
  if (!Array.isArray(ids)) return new InvalidInput(path, "must be an array of group numbers");
  for (const [i, id] of ids.entries()) {
    const problem = checkInteger(`${path}[${i}]`, id, 1);
    if (problem) return problem;
  }
  return null;
}

function checkExecutors(path: string, executors: unknown): Problem {
  if (!Array.isArray(executors)) return new InvalidInput(path, "must be an array of executors");
  for (const [i, executor] of executors.entries()) {
    const problem = checkObject(`${path}[${i}]`, executor) ?? checkExecutor(`${path}[${i}]`, executor);
    if (problem) return problem;
  }
  return null;
}

function checkExecutor(path: string, { name, slots, queues }: Record<string, unknown>): Problem {
  const problem = checkName(executorName, `${path}.name`, name) ?? checkInteger(`${path}.slots`, slots, 1);
  if (problem) return problem;
  if (!Array.isArray(queues)) return new InvalidInput(`${path}.queues`, "must be an array of queue names");
  for (const [i, queue] of queues.entries()) {
    const wrong = checkName(queueName, `${path}.queues[${i}]`, queue);
    if (wrong) return wrong;
  }
  return null;
}

function checkBoolean(path: string, value: unknown): Problem {
  return typeof value === "boolean" ? null : new InvalidInput(path, "must be true or false");
}

function checkInterval(path: string, ms: unknown): Problem {
  return checkInteger(path, ms, 1, LONGEST_DELAY_MS);
}
