// Whether a run can be stored; a bad one is refused alone, its neighbours in the batch go on.

import { InvalidInput } from "../../kernel/error.js";
import type { NewKey, NewRun, RunGroup } from "../../kernel/new-run.js";
import {
  checkDelay,
  checkInteger,
  checkPayload,
  checkText,
  checkUuid,
  firstProblem,
  type Problem,
} from "./check-value.js";

const PRIORITY_MIN = -(2 ** 31);

export function checkGroup(path: string, group: RunGroup): Problem {
  return firstProblem(
    () => checkText(`${path}.env`, group.env),
    () => checkPin(`${path}.stack`, group.stack),
    () => checkText(`${path}.queue`, group.queue),
    () => checkText(`${path}.program`, group.program),
    () => checkPin(`${path}.version`, group.version),
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
    () => checkText(`${path}.scope`, key.scope),
    () => checkText(`${path}.key`, key.key),
    () => checkText(`${path}.payloadHash`, key.payloadHash),
    () => (typeof lifetime === "object" ? checkDelay(`${path}.lifetime.forMs`, lifetime.forMs) : null),
  );
}

/** null means any; the empty text means it too in the database, so as a name of its own it is refused. */
function checkPin(path: string, name: string | null): Problem {
  if (name === "") return new InvalidInput(path, "is empty; use null for any");
  return checkText(path, name);
}
