// `holdfast schedules`: lists schedules with their next fires; pauses, resumes and fires them.

import { Runs } from "../../client/runs.js";
import { type ScheduleInfo, type Schedules, schedulesOf } from "../../client/schedules.js";
import { clientPlace } from "../client-place.js";
import { type Call, defineCommand, type Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { verbOf, WATCH_OPTION } from "../options.js";
import type { Colour } from "../text/paint.js";
import { listText } from "../text/table.js";
import { clockTime, isoTime, timeAgo } from "../text/time-ago.js";

const VERBS = ["pause", "resume", "fire"] as const;
type Verb = (typeof VERBS)[number];
/** The table shows the first, --json all of them: enough to see the interval. */
const NEXT_FIRES = 3;

export const schedules = defineCommand({
  name: "schedules",
  takes: ["[pause|resume|fire]", "[NAME]"],
  summary: "list schedules with their next fires; pause, resume, or fire one now",
  details:
    "NAME is a program, or the id of one of its schedules (--json shows ids). A paused schedule does not fire; its missed windows\n" +
    "are caught up after `resume` as its catch-up policy says. `fire` starts a run now and moves no window. Times are UTC.",
  options: { watch: WATCH_OPTION },
  run: async (call) => {
    const [, name] = call.arguments;
    const verb = verbOf(call, "schedules", VERBS);
    if (verb === undefined) return listSchedules(call);
    if (name === undefined) throw new CommandMisused(`schedules ${verb} needs a NAME: a program, or a schedule's id`);
    return act(call, verb, name);
  },
});

async function open(call: Call): Promise<Schedules> {
  const place = await clientPlace(call);
  return schedulesOf(place.store, new Runs(place), call.env, call.actor);
}

async function act(call: Call, verb: Verb, name: string): Promise<Report> {
  const all = await open(call);
  if (verb === "fire") {
    const { id } = await all.fire(name);
    return { text: `Run ${id} was started.\n`, json: { runId: id } };
  }
  await all[verb](name);
  return { text: `${name} is ${verb}d.\n`, json: { name, paused: verb === "pause" } };
}

async function listSchedules(call: Call): Promise<Report> {
  const list = await (await open(call)).list({ next: NEXT_FIRES });
  const json = { schedules: list.map(scheduleJson) };
  if (list.length === 0) {
    const text = `No schedules in env ${call.env}. A node declares those of its programs: on: [cron("0 2 * * *")].\n`;
    return { text, json };
  }
  const now = call.world.wallNow();
  const records = list.map((one) => ({
    PROGRAM: one.program,
    STACK: one.stack ?? "",
    SCHEDULE: one.schedule,
    STATE: stateOf(one),
    NEXT: one.nextFires[0] === undefined ? "" : `${timeAgo(one.nextFires[0], now)}, ${second(one.nextFires[0])}`,
    "CATCH-UP": one.catchUp,
  }));
  return { text: listText(records, ["PROGRAM", "SCHEDULE"], call), json };
}

function stateOf({ paused, declared, nextFires }: ScheduleInfo): { text: string; colour?: Colour } {
  if (paused) return { text: `paused by ${paused.by}`, colour: "yellow" };
  if (!declared) return { text: "no node", colour: "red" };
  return { text: nextFires.length === 0 ? "over" : "on" };
}

/** Without the year, which the distance makes clear. */
function second(at: number): string {
  return clockTime(at, true).slice(5, 19);
}

function scheduleJson({ nextFires, last, paused, ...rest }: ScheduleInfo): Readonly<Record<string, unknown>> {
  return {
    ...rest,
    nextFires: nextFires.map((at) => isoTime(at)),
    last: isoTime(last),
    paused: paused && { ...paused, at: isoTime(paused.at) },
  };
}
