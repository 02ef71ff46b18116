// Checks declarations and fires of schedules before anything is written.

import { InvalidInput } from "../../../kernel/error.js";
import { dedupeKey, envName, nodeName, programName, stackName } from "../../../kernel/name.js";
import type { Fire, ScheduleDeclaration } from "../../contract/schedule/schedules.js";
import { checkProbe } from "../limit/breaker.js";
import { checkGroup, checkRun } from "../run/run.js";
import {
  checkDelay,
  checkInteger,
  checkName,
  checkObject,
  checkText,
  checkUuid,
  firstProblem,
  optional,
  type Problem,
} from "../value.js";

/** The end of the year 9999: beyond it PostgreSQL's and JavaScript's calendars differ. */
const LATEST_MS = 253_402_300_799_999;

export function checkDeclaration(declaration: ScheduleDeclaration): Problem {
  const { env, stack, programs, schedules, removeAfterMs } = declaration;
  const problem =
    checkName(envName, "env", env) ??
    optional((path, value) => checkName(stackName, path, value))("stack", stack) ??
    optional(checkDelay)("removeAfterMs", removeAfterMs) ??
    firstProblem(programs, (program, i) => checkName(programName, `programs[${i}]`, program));
  if (problem) return problem;
  const seen = new Set<string>();
  return firstProblem(schedules, (schedule, i) => {
    const path = `schedules[${i}]`;
    const bad =
      checkObject(path, schedule) ??
      checkUuid(`${path}.id`, schedule.id) ??
      checkGroup(`${path}.group`, schedule.group) ??
      checkName(dedupeKey, `${path}.key`, schedule.key) ??
      checkText(`${path}.spec`, schedule.spec);
    if (bad) return bad;
    const { group, key } = schedule;
    if (group.env !== env || (group.stack ?? null) !== (stack ?? null) || !programs.includes(group.program)) {
      return new InvalidInput(`${path}.group`, "is not of the declared env, stack and programs");
    }
    const name = JSON.stringify([group.program, key]);
    if (seen.has(name)) return new InvalidInput(`${path}.key`, "is listed twice among the schedules of its program");
    seen.add(name);
    return null;
  });
}

export function checkFires(fires: readonly Fire[]): Problem {
  const seen = new Set<string>();
  return firstProblem(fires, (fire, i) => {
    const path = `fires[${i}]`;
    const bad =
      checkObject(path, fire) ??
      checkUuid(`${path}.scheduleId`, fire.scheduleId) ??
      checkInstant(`${path}.seenLast`, fire.seenLast) ??
      checkInstant(`${path}.last`, fire.last) ??
      optional(checkInstant)(`${path}.next`, fire.next) ??
      firstProblem(fire.runs, (run, k) => {
        const at = `${path}.runs[${k}]`;
        return checkRun(at, run, run?.key ?? null) ?? checkOnce(`${at}.id`, run.id, seen);
      }) ??
      (fire.probe === undefined ? null : checkProbe(fire.probe));
    return bad ?? checkOnce(`${path}.scheduleId`, fire.scheduleId, seen);
  });
}

export function checkScheduleName(env: string, name: string, by?: string): Problem {
  return (
    checkName(envName, "env", env) ??
    checkName(programName, "name", name) ??
    (by === undefined ? null : checkName(nodeName, "by", by))
  );
}

function checkOnce(path: string, id: string, seen: Set<string>): Problem {
  if (seen.has(id)) return new InvalidInput(path, "is listed twice in this call");
  seen.add(id);
  return null;
}

export function checkInstant(path: string, value: unknown): Problem {
  return checkInteger(path, value, -LATEST_MS, LATEST_MS);
}
