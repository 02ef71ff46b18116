// What registering a node refuses before anything is written.

import { envName, nodeName, stackName, versionName } from "../../kernel/name.js";
import { checkName, checkObject, checkUuid, optional, type Problem } from "./value.js";

export function checkNode(node: unknown): Problem {
  const problem = checkObject("node", node);
  if (problem) return problem;
  const { incarnation, identity, name, env, stack, build } = node as Record<string, unknown>;
  return (
    checkUuid("incarnation", incarnation) ??
    checkName(nodeName, "identity", identity) ??
    checkName(nodeName, "name", name) ??
    checkName(envName, "env", env) ??
    optional((path, value) => checkName(stackName, path, value))("stack", stack) ??
    optional((path, value) => checkName(versionName, path, value))("build", build)
  );
}
