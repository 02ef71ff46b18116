// The schedules of an env: listed with their next fires, paused, resumed, fired by hand.

import { HoldfastError, InvalidInput } from "../kernel/error.js";
import { newLimits } from "../kernel/limit-rule.js";
import type { ScheduleRecord } from "../store/contract/schedule/schedules.js";
import type { Store } from "../store/contract/store.js";
import type { CatchUp } from "../trigger/decide-fires.js";
import { tickOf } from "../trigger/schedule-run.js";
import { readSpec, windowsOf } from "../trigger/schedule-spec.js";
import { REMOVE_AFTER_MS } from "../trigger/scheduler.js";
import type { RunHandle } from "./run-handle.js";
import type { Runs } from "./runs.js";

/** Worked out by the one who asks. */
const MOST_FIRES = 1000;

/** No program of this name has a schedule, and no schedule has this id. */
export class ScheduleUnknown extends HoldfastError {
  readonly code = "SCHEDULE_UNKNOWN";

  constructor(name: string, env: string) {
    super(`No schedule of ${JSON.stringify(name)} in env ${env}. Its nodes declare it when they start.`);
  }
}

/** The program has several schedules, and only one can be meant. */
export class ScheduleAmbiguous extends HoldfastError {
  readonly code = "SCHEDULE_AMBIGUOUS";

  constructor(name: string, schedules: readonly ScheduleRecord[]) {
    const each = schedules.map(({ id, key, group }) => `${id} (${key}${group.stack ? `, stack ${group.stack}` : ""})`);
    super(`${JSON.stringify(name)} has several schedules. Give the id of one: ${each.join(", ")}.`);
  }
}

export interface ScheduleInfo {
  readonly id: string;
  readonly program: string;
  readonly stack: string | null;
  /** `cron 0 2 * * * (Europe/Berlin)`, `every 5m`. */
  readonly schedule: string;
  readonly catchUp: CatchUp;
  /** The next windows, as instants in ms by the calendar alone; none while it is paused. */
  readonly nextFires: readonly number[];
  /** Windows up to here are decided. */
  readonly last: number;
  readonly paused: { readonly at: number; readonly by: string } | null;
  /** Whether a node has declared it of late. Without one it fires nothing, and makes up for it later. */
  readonly declared: boolean;
}

export interface Schedules {
  /** By program. `next`: how many of the next fires are told, up to 1000. Default 1. */
  list(options?: { readonly next?: number }): Promise<readonly ScheduleInfo[]>;
  /** `name`: a program, all of whose schedules are meant, or the id of one. Fires nothing until it is resumed. */
  pause(name: string, options?: { readonly by?: string }): Promise<void>;
  /** What was due meanwhile counts as missed: made up for, or not, as its `catchUp` says. */
  resume(name: string): Promise<void>;
  /** Starts a run now, besides those of the windows; also while it is paused. */
  fire<Out = unknown>(name: string): Promise<RunHandle<Out>>;
}

/** `by`: who pauses, unless it is said. */
export function schedulesOf(store: Store, runs: Runs, env: string, by: string): Schedules {
  const { schedules } = store;
  const known = async (name: string, counting: Promise<number>) => {
    if ((await counting) === 0) throw new ScheduleUnknown(name, env);
  };
  return {
    async list({ next = 1 } = {}) {
      if (!Number.isInteger(next) || next < 0 || next > MOST_FIRES) {
        throw new InvalidInput("next", `must be a whole number from 0 to ${MOST_FIRES}`);
      }
      const { now, schedules: rows } = await schedules.list(env);
      return rows.map((row) => infoOf(row, now, next));
    },
    pause: (name, options = {}) => known(name, schedules.pause(env, name, options.by ?? by)),
    resume: (name) => known(name, schedules.resume(env, name)),
    async fire(name) {
      const { now, schedules: rows } = await schedules.list(env);
      const meant = rows.filter(({ id, group }) => id === name || group.program === name);
      if (meant.length > 1) throw new ScheduleAmbiguous(name, meant);
      const row = meant[0];
      if (!row) throw new ScheduleUnknown(name, env);
      const { group } = row;
      const tick = tickOf(readSpec(row.spec).kind, now, now);
      const limits = newLimits(await store.runs.limitsOf(group), group.queue, tick);
      const run = runs.newRun({ ...group, name: group.program, limits: [] }, tick, {});
      const answer = await runs.insert({ ...run, group, ...(limits.length > 0 && { limits }) });
      if (answer.outcome === "refused") throw answer.error;
      return runs.run(run.id);
    },
  };
}

function infoOf(row: ScheduleRecord, now: number, next: number): ScheduleInfo {
  const { id, group, key, last, paused, anchor } = row;
  const spec = readSpec(row.spec);
  return {
    id,
    program: group.program,
    stack: group.stack,
    schedule: key,
    catchUp: spec.catchUp,
    nextFires: paused ? [] : nextFires(windowsOf(spec, anchor), Math.max(now, last), next),
    last,
    paused,
    declared: row.seenAt > now - REMOVE_AFTER_MS,
  };
}

function nextFires(windows: ReturnType<typeof windowsOf>, after: number, count: number): number[] {
  const fires: number[] = [];
  for (let at = windows.next(after); at !== null && fires.length < count; at = windows.next(at)) fires.push(at);
  return fires;
}
