// `holdfast instance`: where one instance is, its timers, and what happened to it. Marked fields are not shown.

import { InstanceUnknown } from "../../machine/errors.js";
import { instanceKey } from "../../machine/instance-key.js";
import { redact } from "../../machine/redact.js";
import type { InstanceEvent, TimerRecord } from "../../store/contract/machine/machines.js";
import type { Call, Command, Report } from "../command.js";
import { decode } from "../text/payload-text.js";
import { tableLines } from "../text/table.js";
import { clockTime, isoTime, timeAgo } from "../text/time-ago.js";
import { instanceJson, shownState } from "./instances.js";

const MOST_EVENTS = 1000;

export const instance: Command = {
  name: "instance",
  takes: ["MACHINE", "ID"],
  summary: "where an instance is, its timers, and what happened to it",
  details: "With --retry, timers that gave up are tried again.",
  options: { retry: { type: "boolean", says: "try timers again that gave up" } },
  run: showInstance,
};

async function showInstance(call: Call): Promise<Report> {
  const [machine, id] = call.arguments as [string, string];
  const { machines } = await call.store();
  const key = instanceKey(call.env, machine, id);
  const [loaded] = await machines.load([key]);
  if (!loaded) throw new InstanceUnknown(machine, id);
  const retried = call.values["retry"] ? await machines.retryTimers(key) : null;
  const [timers, events] = [await machines.timers(key), await machines.events(key, { after: 0, limit: MOST_EVENTS })];
  const history = events.map((event) => ({ ...event, shown: shownEvent(event, loaded.redact) }));
  const now = call.world.wallNow();
  const head = [`${machine} ${id}: ${shownState(loaded.value)}, ${loaded.status}, sequence ${loaded.seq}`];
  if (loaded.problem !== null) head.push(`problem: ${loaded.problem}`);
  if (retried !== null) head.push(`${retried} timers are tried again`);
  const lines = [
    ...head,
    ...(timers.length === 0 ? [] : ["", ...timerLines(timers, now, call)]),
    "",
    ...tableLines(
      {
        columns: [
          { title: "SEQ", align: "right" },
          { title: "AT" },
          { title: "EVENT" },
          { title: "BY" },
          { title: "VALUE", flexible: true },
        ],
        rows: history.map(({ seq, at, name, by, shown }) => [String(seq), clockTime(at, true), name, by ?? "", shown]),
      },
      call.width,
      call.paint,
    ),
  ];
  const json = {
    ...instanceJson(loaded),
    ...(retried !== null && { retried }),
    timers: timers.map(timerJson),
    history: history.map(({ seq, kind, name, by, at, shown }) => ({
      seq,
      kind,
      event: name,
      by,
      at: isoTime(at),
      value: shown,
    })),
  };
  return { text: `${lines.join("\n")}\n`, json };
}

function timerLines(timers: readonly TimerRecord[], now: number, call: Call): string[] {
  const columns = [
    { title: "TIMER" },
    { title: "DUE" },
    { title: "STATE" },
    { title: "TRIES", align: "right" as const },
    { title: "PROBLEM", flexible: true },
  ];
  const rows = timers.map(({ name, dueAt, state, attempts, problem }) => [
    ...[name, timeAgo(dueAt, now), { text: state, ...(state === "dead" && { colour: "red" as const }) }],
    ...[String(attempts), problem ?? ""],
  ]);
  return tableLines({ columns, rows }, call.width, call.paint);
}

function timerJson({ name, kind, generation, dueAt, attempts, state, problem }: TimerRecord) {
  return { name, kind, generation, dueAt: isoTime(dueAt), attempts, state, problem };
}

function shownEvent({ kind, payload }: InstanceEvent, paths: readonly string[]): string {
  const decoded = decode(payload);
  if ("unreadable" in decoded) return decoded.unreadable;
  return JSON.stringify(redact(decoded.value, kind === "start" ? "input" : "event", paths)) ?? "";
}
