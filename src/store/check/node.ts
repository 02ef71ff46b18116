// What registering a node refuses before anything is written.

import { envName, nodeName, stackName, versionName } from "../../kernel/name.js";
import type { NodeRegistration } from "../contract/nodes.js";
import { checkName, checkUuid, type Problem } from "./value.js";

export function checkNode(node: NodeRegistration): Problem {
  return (
    checkUuid("incarnation", node.incarnation) ??
    checkName(nodeName, "identity", node.identity) ??
    checkName(nodeName, "name", node.name) ??
    checkName(envName, "env", node.env) ??
    checkName(stackName, "stack", node.stack) ??
    checkName(versionName, "build", node.build)
  );
}
