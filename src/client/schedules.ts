// Lists the schedules of an env with their next fires; pauses, resumes and fires them.

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

/** The caller computes the next fires, so their number is bounded. */
const MOST_FIRES = 1000;

/** No program of this name has a schedule, and no schedule has this id. */
export class ScheduleUnknown extends HoldfastError {
  readonly code = "SCHEDULE_UNKNOWN";

  constructor(name: string, env: string) {
    super(
      `No schedule of ${JSON.stringify(name)} in env ${env}. A node that has the program declares its schedules when it starts.`,
    );
  }
}

/** The program has several schedules, but the operation needs exactly one. */
export class ScheduleAmbiguous extends HoldfastError {
  readonly code = "SCHEDULE_AMBIGUOUS";

  constructor(name: string, schedules: readonly ScheduleRecord[]) {
    const each = schedules.map(({ id, key, group }) => `${id} (${key}${group.stack ? `, stack ${group.stack}` : ""})`);
    super(`${JSON.stringify(name)} has several schedules. Give the id of one: ${each.join(", ")}.`);
  }
}

/** A schedule as lists show it, with its next fires. */
export interface ScheduleInfo {
  /** The id of the schedule. */
  readonly id: string;
  /** The program that it starts. */
  readonly program: string;
  /** The stack whose nodes fire it; null: any. */
  readonly stack: string | null;
  /** `cron 0 2 * * * (Europe/Berlin)`, `every 5m`. */
  readonly schedule: string;
  /** What happens to windows that were missed. */
  readonly catchUp: CatchUp;
  /** The next windows, in ms since 1970, by the calendar alone; empty while paused. */
  readonly nextFires: readonly number[];
  /** The end of the last window that was decided. */
  readonly last: number;
  /** When it was paused and by whom; null while it fires. */
  readonly paused: { readonly at: number; readonly by: string } | null;
  /**
   * Whether a node has declared it recently. Without one the schedule does not fire; missed windows are caught up
   * later.
   */
  readonly declared: boolean;
}

/** Lists, pauses, resumes and fires the schedules of an env. */
export interface Schedules {
  /** Sorted by program. `next`: how many of the next fires to list, up to 1000. @default 1 */
  list(options?: { readonly next?: number }): Promise<readonly ScheduleInfo[]>;
  /** `name`: a program (all its schedules) or the id of one schedule. It does not fire until it is resumed. */
  pause(name: string, options?: { readonly by?: string }): Promise<void>;
  /** Windows that fell due meanwhile count as missed: `catchUp` decides whether they are caught up. */
  resume(name: string): Promise<void>;
  /** Starts a run now, in addition to those of the windows; also while the schedule is paused. */
  fire<Out = unknown>(name: string): Promise<RunHandle<Out>>;
}

/** `by`: the default for who pauses. */
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
