// Checks the arguments of timeout operations before anything is written, and rejects fences that no claim can have.

import { dedupeKey, envName, keyScope, nodeName, waitName } from "../../../kernel/name.js";
import type {
  NewTimeout,
  TimeoutClaimRequest,
  TimeoutFence,
  TimeoutKey,
  TimeoutRelease,
} from "../../contract/timeout/timeouts.js";
import { checkInstant } from "../schedule/schedule.js";
import {
  checkDelay,
  checkInteger,
  checkName,
  checkObject,
  checkText,
  checkUuid,
  optional,
  type Problem,
} from "../value.js";

export function checkTimeoutScope({ env, scope }: Omit<TimeoutKey, "instance">): Problem {
  return checkName(envName, "env", env) ?? checkName(keyScope, "scope", scope);
}

export function checkTimeoutKey(key: TimeoutKey): Problem {
  return checkObject("timeout", key) ?? checkTimeoutScope(key) ?? checkName(dedupeKey, "instance", key.instance);
}

export function checkNewTimeout(timeout: NewTimeout): Problem {
  const problem = checkTimeoutKey(timeout);
  if (problem) return problem;
  const { generation, state, sequence, deadline } = timeout;
  return (
    checkUuid("generation", generation) ??
    checkName(waitName, "state", state) ??
    checkInteger("sequence", sequence, 0, Number.MAX_SAFE_INTEGER) ??
    checkObject("deadline", deadline) ??
    ("at" in deadline ? checkInstant("at", deadline.at) : checkDelay("in", deadline.inMs))
  );
}

export function checkTimeoutClaim(path: string, request: TimeoutClaimRequest): Problem {
  return (
    checkObject(path, request) ??
    checkTimeoutKey(request) ??
    checkUuid("generation", request.generation) ??
    checkName(nodeName, "node", request.node) ??
    checkUuid("token", request.token) ??
    // A claim of 0 ms would expire before the reply arrives.
    (request.claimMs < 1 ? checkInteger("claimMs", request.claimMs, 1) : checkDelay("claimMs", request.claimMs))
  );
}

export function checkTimeoutRelease(path: string, { retryInMs, problem }: TimeoutRelease): Problem {
  return (
    (retryInMs === "never" ? null : optional(checkDelay)(`${path}.retryInMs`, retryInMs)) ??
    optional(checkText)(`${path}.problem`, problem)
  );
}

export function checkTimeoutFence(fence: TimeoutFence): Problem {
  return checkObject("fence", fence) ?? checkUuid("generation", fence.generation) ?? checkUuid("token", fence.token);
}
