// Whether a run can be stored; a bad one is refused alone, its neighbours in the batch go on.

import { dedupeKey, envName, programName, queueName, stackName, versionName } from "../../kernel/name.js";
import type { NewKey, NewRun, RunGroup } from "../../kernel/new-run.js";
import { checkDelay, checkInteger, checkName, checkPayload, checkUuid, firstProblem, type Problem } from "./value.js";

const PRIORITY_MIN = -(2 ** 31);

export function checkGroup(path: string, group: RunGroup): Problem {
  return firstProblem(
    () => checkName(envName, `${path}.env`, group.env),
    () => checkName(stackName, `${path}.stack`, group.stack),
    () => checkName(queueName, `${path}.queue`, group.queue),
    () => checkName(programName, `${path}.program`, group.program),
    () => checkName(versionName, `${path}.version`, group.version),
  );
}

export function checkRun(path: string, run: Omit<NewRun, "key">, key?: NewKey): Problem {
  const at = (field: string) => (path ? `${path}.${field}` : field);
  return firstProblem(
    () => checkUuid(at("id"), run.id),
    () => checkGroup(at("group"), run.group),
    () => checkInteger(at("priority"), run.priority, PRIORITY_MIN),
    () => checkDelay(at("delayMs"), run.delayMs),
    () => checkInteger(at("crashLimit"), run.crashLimit, 1),
    () => checkPayload(at("input"), run.input),
    () => checkUuid(at("parentId"), run.parentId),
    () => (key ? checkKey(at("key"), key) : null),
  );
}

function checkKey(path: string, key: NewKey): Problem {
  const { lifetime } = key;
  return firstProblem(
    () => checkName(dedupeKey, `${path}.scope`, key.scope),
    () => checkName(dedupeKey, `${path}.key`, key.key),
    () => checkName(dedupeKey, `${path}.payloadHash`, key.payloadHash),
    () => (typeof lifetime === "object" ? checkDelay(`${path}.lifetime.forMs`, lifetime.forMs) : null),
  );
}
