// Whether a run can be stored; a bad one is refused alone, its neighbours in the batch go on.

import { dedupeKey, envName, programName, queueName, stackName, versionName } from "../../kernel/name.js";
import type { NewKey, NewRun, RunGroup } from "../../kernel/new-run.js";
import { checkDelay, checkInteger, checkName, checkPayload, checkUuid, type Problem } from "./value.js";

const PRIORITY_MIN = -(2 ** 31);

export function checkGroup(path: string, group: RunGroup): Problem {
  return (
    checkName(envName, `${path}.env`, group.env) ??
    checkName(stackName, `${path}.stack`, group.stack) ??
    checkName(queueName, `${path}.queue`, group.queue) ??
    checkName(programName, `${path}.program`, group.program) ??
    checkName(versionName, `${path}.version`, group.version)
  );
}

/** `groups` remembers within one call what was found: the runs of a batch mostly share one group object. */
export function checkRun(
  path: string,
  run: Omit<NewRun, "key">,
  key?: NewKey,
  groups?: Map<RunGroup, Problem>,
): Problem {
  const at = (field: string) => (path ? `${path}.${field}` : field);
  let group = groups?.get(run.group);
  if (group === undefined) {
    group = checkGroup(at("group"), run.group);
    groups?.set(run.group, group);
  }
  return (
    checkUuid(at("id"), run.id) ??
    group ??
    checkInteger(at("priority"), run.priority, PRIORITY_MIN) ??
    checkDelay(at("delayMs"), run.delayMs) ??
    checkInteger(at("crashLimit"), run.crashLimit, 1) ??
    checkPayload(at("input"), run.input) ??
    checkUuid(at("parentId"), run.parentId) ??
    (key ? checkKey(at("key"), key) : null)
  );
}

function checkKey(path: string, key: NewKey): Problem {
  const { lifetime } = key;
  return (
    checkName(dedupeKey, `${path}.scope`, key.scope) ??
    checkName(dedupeKey, `${path}.key`, key.key) ??
    checkName(dedupeKey, `${path}.payloadHash`, key.payloadHash) ??
    (typeof lifetime === "object" ? checkDelay(`${path}.lifetime.forMs`, lifetime.forMs) : null)
  );
}
