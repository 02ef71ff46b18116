// The operations on limits, circuit breakers and queues as values.

import { isUuid } from "../../../kernel/id.js";
import { envName, nodeName, queueName } from "../../../kernel/name.js";
import type { BreakerStore } from "../../contract/limit/breakers.js";
import type { Admission, RunLimits } from "../../contract/limit/limits.js";
import type { QueueStore } from "../../contract/limit/queues.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { checkGroup } from "../run/run.js";
import { checkLimit, checkName, checkText, checkUuid, firstProblem, type Problem } from "../value.js";
import { checkBreaker, checkProbe } from "./breaker.js";
import { checkDeclared } from "./declared.js";

export const LIMIT_OPERATIONS = {
  declare: { ...CHANGES, changes: "limits and recovery of programs", check: checkDeclared },
  limitsOf: { ...READS, check: (group) => checkGroup("group", group) },
  admit: { ...CHANGES, changes: "held runs: waiting, as far as their limits allow", check: checkAdmission },
} satisfies OperationsOf<RunLimits>;

export const BREAKER_OPERATIONS = {
  read: { ...READS, tx: true, check: (questions) => firstProblem(questions, checkBreaker) },
  takeProbe: { ...CHANGES, changes: "which run may try while a breaker is open", tx: true, check: checkProbe },
  isProbe: { ...READS, absent: { when: (runId) => !isUuid(runId), answer: false } },
} satisfies OperationsOf<BreakerStore>;

export const QUEUE_OPERATIONS = {
  pause: {
    ...CHANGES,
    changes: "a queue: its runs are not claimed",
    check: (env, queue, by) => checkQueue(env, queue) ?? checkName(nodeName, "by", by),
  },
  resume: { ...CHANGES, changes: "a paused queue", check: checkQueue },
  list: { ...READS, check: (env) => checkText("env", env) },
} satisfies OperationsOf<QueueStore>;

function checkAdmission(whom: Admission): Problem {
  if ("runIds" in whom) return firstProblem(whom.runIds, (id, i) => checkUuid(`runIds[${i}]`, id));
  return checkLimit("keys", whom.keys) ?? checkText("env", whom.env);
}

function checkQueue(env: unknown, queue: unknown): Problem {
  return checkName(envName, "env", env) ?? checkName(queueName, "queue", queue);
}
