// The operations on schedules as values.

import { InvalidInput } from "../../../kernel/error.js";
import { dedupeKey, envName, nodeName, programName, stackName } from "../../../kernel/name.js";
import type { DeclaredSchedule, Fire, ScheduleDeclaration, ScheduleStore } from "../../contract/schedule/schedules.js";
import { CHANGES, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkProbe } from "../limit/limit-operations.js";
import { checkGroup, checkRun } from "../run/run.js";
import * as v from "../value.js";

const checkIds = v.listOf("ids", v.checkUuid);

export const SCHEDULE_OPERATIONS = {
  declare: { ...CHANGES, changes: "schedules of programs", check: checkDeclaration },
  due: { ...READS, check: (ids) => checkIds("ids", ids) },
  fire: {
    ...CHANGES,
    changes: "schedules: advanced, and the runs of their windows",
    check: checkFires,
    batch: {
      ...MOST_AT_ONCE,
      sizeOf: (one) => ({
        rows: 1 + (one?.runs?.length ?? 0),
        bytes: (one?.runs ?? []).reduce((sum, run) => sum + (run?.input?.data?.length ?? 0), 0),
      }),
    },
  },
  list: { ...READS, check: (env) => v.checkText("env", env) },
  pause: {
    ...CHANGES,
    changes: "schedules: paused",
    check: (env, name, by) => checkProgram(env, name) ?? v.named(nodeName)("by", by),
  },
  resume: { ...CHANGES, changes: "schedules: resumed", check: checkProgram },
} satisfies OperationsOf<ScheduleStore>;

function checkProgram(env: string, name: string): v.Problem {
  return v.named(envName)("env", env) ?? v.named(programName)("name", name);
}

const checkSchedule = v.shape<DeclaredSchedule>("schedule", {
  id: v.checkUuid,
  group: checkGroup,
  key: v.named(dedupeKey),
  spec: v.checkText,
});

function checkDeclaration(declaration: ScheduleDeclaration): v.Problem {
  const { env, stack, programs } = declaration;
  const seen = new Set<string>();
  const checkOne = (path: string, schedule: unknown): v.Problem => {
    const bad = checkSchedule(path, schedule);
    if (bad) return bad;
    const { group, key } = schedule as DeclaredSchedule;
    if (group.env !== env || (group.stack ?? null) !== (stack ?? null) || !programs.includes(group.program)) {
      return new InvalidInput(`${path}.group`, "is not of the declared env, stack and programs");
    }
    const name = JSON.stringify([group.program, key]);
    return v.checkOnce(`${path}.key`, name, seen, "among the schedules of its program");
  };
  const check = v.shape<ScheduleDeclaration>("declaration", {
    env: v.named(envName),
    stack: v.optional(v.named(stackName)),
    removeAfterMs: v.optional(v.checkDelay),
    programs: v.listOf("programs", v.named(programName)),
    schedules: v.listOf("schedules", checkOne),
  });
  return check("", declaration);
}

function checkFires(fires: readonly Fire[]): v.Problem {
  const seen = new Set<string>();
  const checkFire = v.shape<Fire>("fire", {
    scheduleId: v.checkUuid,
    seenLast: v.checkInstant,
    last: v.checkInstant,
    next: v.optional(v.checkInstant),
    runs: v.listOf("runs", (path, run) => {
      const { id, key } = (run ?? {}) as Fire["runs"][number];
      return checkRun(path, run, key ?? null) ?? v.checkOnce(`${path}.id`, id, seen);
    }),
    probe: (_path, probe) => (probe === undefined ? null : checkProbe("", probe)),
  });
  const check = v.listOf("fires", (path, fire) => {
    return checkFire(path, fire) ?? v.checkOnce(`${path}.scheduleId`, (fire as Fire).scheduleId, seen);
  });
  return check("fires", fires);
}
