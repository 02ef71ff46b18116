// The operations on nodes as values.

import { isUuid } from "../../../kernel/id.js";
import {
  envName,
  executorName,
  nodeName,
  programName,
  queueName,
  stackName,
  versionName,
} from "../../../kernel/name.js";
import { checkModeChange, NODE_MODES } from "../../../kernel/node-mode.js";
import type { NodeExecutor, NodeRegistration, NodeStore } from "../../contract/node/nodes.js";
import type { ProgramFacts } from "../../contract/node/programs.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import * as v from "../value.js";

const noSuchNode = (incarnation: unknown) => !isUuid(incarnation);
const checkGroupIds = v.listOf("group numbers", v.integer(1));

const LONGEST_SHAPE = 256 * 1024;

const checkNode = v.shape<NodeRegistration>("node", {
  incarnation: v.checkUuid,
  identity: v.named(nodeName),
  name: v.named(nodeName),
  env: v.named(envName),
  stack: v.optional(v.named(stackName)),
  build: v.optional(v.named(versionName)),
  serves: v.optional(checkGroupIds),
  executors: v.optional(
    v.listOf(
      "executors",
      v.shape<NodeExecutor>("executor", {
        name: v.named(executorName),
        slots: v.integer(1),
        queues: v.listOf("queue names", v.named(queueName)),
      }),
    ),
  ),
  alone: v.optional(v.checkBoolean),
  heartbeatMs: v.optional(v.integer(1, v.LONGEST_DELAY_MS)),
  leaseMs: v.optional(v.integer(1, v.LONGEST_DELAY_MS)),
  presenceGraceMs: v.optional(v.integer(0, v.LONGEST_DELAY_MS)),
  reclaims: v.optional(v.checkBoolean),
  mode: v.optional(v.among(NODE_MODES)),
  programs: v.optional(
    v.listOf(
      "programs",
      v.shape<ProgramFacts>("program", {
        name: v.named(programName),
        kind: v.checkText,
        shape: v.optional(v.jsonObject("a shape", LONGEST_SHAPE)),
        inputSchema: v.optional(v.jsonObject("a schema", LONGEST_SHAPE)),
      }),
    ),
  ),
});

export const NODE_OPERATIONS = {
  register: {
    ...CHANGES,
    changes: "a node, and the claims of the dead nodes that it replaces",
    check: v.whole(checkNode),
  },
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
      return v.named(nodeName)("by", by);
    },
    absent: { when: noSuchNode, answer: null },
  },
  stop: { ...CHANGES, changes: "a node: stopped", absent: { when: noSuchNode, answer: undefined } },
  list: { ...READS, check: ({ env }) => v.checkText("env", env) },
  programs: { ...READS, check: (env) => v.checkText("env", env) },
} satisfies OperationsOf<NodeStore>;
