// The operations on the tasks of a run as values.

import { isUuid } from "../../../kernel/id.js";
import { nodeName } from "../../../kernel/name.js";
import type { RunTasks } from "../../contract/task/tasks.js";
import { CHANGES, type OperationsOf } from "../../operation.js";
import { checkText, named, optional } from "../value.js";

export const TASK_OPERATIONS = {
  cancelTasks: {
    ...CHANGES,
    changes: "the tasks of a run: ended, or asked to end",
    check: (_runId, { by, reason }) => named(nodeName)("by", by) ?? optional(checkText)("reason", reason),
    absent: { when: (runId) => !isUuid(runId), answer: 0 },
  },
  reconcile: {
    ...CHANGES,
    changes: "wrong counts of open tasks: corrected",
    check: ({ env, stack } = {}) => optional(checkText)("env", env) ?? optional(checkText)("stack", stack),
  },
} satisfies OperationsOf<RunTasks>;
