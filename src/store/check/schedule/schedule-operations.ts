// The operations on schedules as values.

import type { ScheduleStore } from "../../contract/schedule/schedules.js";
import { CHANGES, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkText, checkUuid, firstProblem } from "../value.js";
import { checkDeclaration, checkFires, checkScheduleName } from "./schedule.js";

export const SCHEDULE_OPERATIONS = {
  declare: { ...CHANGES, changes: "schedules of programs", check: checkDeclaration },
  due: { ...READS, check: (ids) => firstProblem(ids, (id, i) => checkUuid(`ids[${i}]`, id)) },
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
  list: { ...READS, check: (env) => checkText("env", env) },
  pause: { ...CHANGES, changes: "schedules: paused", check: (env, name, by) => checkScheduleName(env, name, by) },
  resume: { ...CHANGES, changes: "schedules: resumed", check: (env, name) => checkScheduleName(env, name) },
} satisfies OperationsOf<ScheduleStore>;
