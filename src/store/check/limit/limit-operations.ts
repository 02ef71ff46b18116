// The operations on limits, circuit breakers and queues as values.

import { isUuid } from "../../../kernel/id.js";
import { envName, nodeName, programName, queueName } from "../../../kernel/name.js";
import { RECOVERIES } from "../../../kernel/run/recovery.js";
import type { BreakerQuestion, BreakerStore, ProbeRequest } from "../../contract/limit/breakers.js";
import type { Admission, DeclaredProgram, RunLimits } from "../../contract/limit/limits.js";
import type { QueueStore } from "../../contract/limit/queues.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { checkGroup } from "../run/run.js";
import * as v from "../value.js";

const checkPrograms = v.listOf(
  "programs",
  v.shape<DeclaredProgram>("program", {
    group: checkGroup,
    limits: v.listOf("limits", () => null),
    recovery: v.optional(v.among(RECOVERIES)),
    cleansUp: v.optional(v.checkBoolean),
  }),
);

export const LIMIT_OPERATIONS = {
  declare: {
    ...CHANGES,
    changes: "limits, recovery and clean-up of programs",
    check: (incarnation, programs) => v.checkUuid("incarnation", incarnation) ?? checkPrograms("programs", programs),
  },
  limitsOf: { ...READS, check: (group) => checkGroup("group", group) },
  admit: { ...CHANGES, changes: "held runs: waiting, as far as their limits allow", check: checkAdmission },
} satisfies OperationsOf<RunLimits>;

const checkBreakers = v.listOf(
  "questions",
  v.shape<BreakerQuestion>("question", {
    env: v.named(envName),
    program: v.named(programName),
    threshold: v.integer(1),
    halfOpenMs: v.checkDelay,
  }),
);

export const checkProbe = v.shape<ProbeRequest>("request", {
  env: v.named(envName),
  program: v.named(programName),
  opening: v.checkText,
  probe: v.integer(1),
  runId: v.checkUuid,
});

export const BREAKER_OPERATIONS = {
  read: { ...READS, tx: true, check: (questions) => checkBreakers("questions", questions) },
  takeProbe: { ...CHANGES, changes: "which run may try while a breaker is open", tx: true, check: v.whole(checkProbe) },
  isProbe: { ...READS, absent: { when: (runId) => !isUuid(runId), answer: false } },
} satisfies OperationsOf<BreakerStore>;

export const QUEUE_OPERATIONS = {
  pause: {
    ...CHANGES,
    changes: "a queue: its runs are not claimed",
    check: (env, queue, by) => checkQueue(env, queue) ?? v.named(nodeName)("by", by),
  },
  resume: { ...CHANGES, changes: "a paused queue", check: checkQueue },
  list: { ...READS, check: (env) => v.checkText("env", env) },
} satisfies OperationsOf<QueueStore>;

function checkAdmission(whom: Admission): v.Problem {
  if ("runIds" in whom) return v.listOf("ids", v.checkUuid)("runIds", whom.runIds);
  return v.checkLimit("keys", whom.keys) ?? v.checkText("env", whom.env);
}

function checkQueue(env: unknown, queue: unknown): v.Problem {
  return v.named(envName)("env", env) ?? v.named(queueName)("queue", queue);
}
