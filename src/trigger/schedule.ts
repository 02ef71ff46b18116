// Schedules as values: `cron("0 2 * * *", { timezone })`, `every("5m")`.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { type Per, perOf } from "../kernel/per.js";
import type { CatchUp } from "./decide-fires.js";
import type { Tick, Trigger } from "./trigger.js";
import { cronWindows } from "./windows.js";

/** Options of `every`. */
export interface ScheduleOptions {
  /** What happens to windows at which no node was running. @default `last` */
  readonly catchUp?: CatchUp;
  /** One run per window in the env, or one in each stack whose nodes have the program. @default env */
  readonly per?: Per;
}

/** Options of `cron`. */
export interface CronOptions extends ScheduleOptions {
  /** The zone in which the line is read, such as `Europe/Berlin`. @default UTC */
  readonly timezone?: string;
}

/** Shorter intervals would keep the database busier than the work. */
const SHORTEST_MS = 1000;

/**
 * A trigger at the times of a cron line: five fields, or six with seconds first. A line that is invalid or never due is rejected here.
 *
 * @example
 * ```ts
 * const report = workflow(
 *   "report",
 *   { on: [cron("0 2 * * *", { timezone: "Europe/Berlin", catchUp: "all" })] },
 *   async (ctx, input) => ctx.step("send", () => `sent for ${input.window}`),
 * );
 * ```
 */
export function cron(line: string, { timezone = "UTC", catchUp, per }: CronOptions = {}): Trigger<Tick<"cron">> {
  if (typeof line !== "string") throw new InvalidInput("cron", "must be a cron line");
  // Normalised, because the text is the schedule's key.
  const plain = line.trim().split(/\s+/).join(" ");
  cronWindows(plain, timezone);
  return { spec: { kind: "cron", line: plain, timezone, catchUp: catchUpOf(catchUp), per: perOf(per) } };
}

/**
 * A trigger at an interval, counted from when the database first saw it, across restarts and deploys.
 *
 * @example
 * ```ts
 * const sync = workflow("sync", { on: [every("1s")] }, async (ctx, input) => ctx.step("pull", () => input.window));
 * ```
 */
export function every(duration: Duration, { catchUp, per }: ScheduleOptions = {}): Trigger<Tick<"every">> {
  const everyMs = toMs(duration, "every");
  if (everyMs < SHORTEST_MS) throw new InvalidInput("every", `must be at least ${SHORTEST_MS} ms; it is ${everyMs} ms`);
  return { spec: { kind: "every", everyMs, catchUp: catchUpOf(catchUp), per: perOf(per) } };
}

function catchUpOf(catchUp: CatchUp = "last"): CatchUp {
  if (["none", "last", "all"].includes(catchUp)) return catchUp;
  throw new InvalidInput("catchUp", 'must be "none", "last" or "all"');
}
