// The operations on nodes as values.

import { isUuid } from "../../../kernel/id.js";
import { nodeName } from "../../../kernel/name.js";
import { checkModeChange } from "../../../kernel/node-mode.js";
import type { NodeStore } from "../../contract/node/nodes.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { checkName, checkText } from "../value.js";
import { checkGroupIds, checkNode } from "./node.js";

const noSuchNode = (incarnation: unknown) => !isUuid(incarnation);

export const NODE_OPERATIONS = {
  register: { ...CHANGES, changes: "a node, and the claims of the dead nodes that it replaces", check: checkNode },
  heartbeat: { ...CHANGES, changes: "a node's last sign of life", absent: { when: noSuchNode, answer: false } },
  claimsFrom: {
    ...CHANGES,
    changes: "the groups that a node takes runs of",
    check: (_incarnation, groupIds) => checkGroupIds("groupIds", groupIds),
    absent: { when: noSuchNode, answer: undefined },
  },
  changeMode: {
    ...CHANGES,
    changes: "the mode of a node",
    check: (_incarnation, change, { by }) => {
      checkModeChange(change);
      return checkName(nodeName, "by", by);
    },
    absent: { when: noSuchNode, answer: null },
  },
  stop: { ...CHANGES, changes: "a node: stopped", absent: { when: noSuchNode, answer: undefined } },
  list: { ...READS, check: ({ env }) => checkText("env", env) },
} satisfies OperationsOf<NodeStore>;
