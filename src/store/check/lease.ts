// What the lease operations refuse before anything is written.

import { envName, leaseKey, nodeName } from "../../kernel/name.js";
import type { AcquireRequest } from "../contract/leases.js";
import { checkDelay, checkName, checkUuid, type Problem } from "./value.js";

export function checkAcquire({ env, key, owner, token, leaseMs }: AcquireRequest): Problem {
  return (
    checkName(envName, "env", env) ??
    checkName(leaseKey, "key", key) ??
    checkName(nodeName, "owner", owner) ??
    checkUuid("token", token) ??
    checkDelay("leaseMs", leaseMs)
  );
}
