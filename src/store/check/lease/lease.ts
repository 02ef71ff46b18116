// Checks that the lease operations make before anything is written, and fences that no owner can hold.

import { isUuid } from "../../../kernel/id.js";
import { envName, leaseKey, nodeName } from "../../../kernel/name.js";
import { checkDelay, checkName, checkObject, checkText, checkUuid, type Problem } from "../value.js";

export function checkAcquire(request: unknown): Problem {
  const problem = checkObject("request", request);
  if (problem) return problem;
  const { env, key, owner, token, leaseMs } = request as Record<string, unknown>;
  return (
    checkName(envName, "env", env) ??
    checkName(leaseKey, "key", key) ??
    checkName(nodeName, "owner", owner) ??
    checkUuid("token", token) ??
    checkDelay("leaseMs", leaseMs)
  );
}

/** A fence that no lease can have is answered like one that was lost. */
export function mayBeFence(fence: unknown): boolean {
  if (checkObject("fence", fence)) return false;
  const { env, key, epoch, token } = fence as Record<string, unknown>;
  return mayBeLease(env, key) && Number.isSafeInteger(epoch) && isUuid(token);
}

export function mayBeLease(env: unknown, key: unknown): boolean {
  return !checkText("env", env) && !checkText("key", key);
}
