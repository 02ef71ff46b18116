// `holdfast instance`: one machine instance: state, timers, history. Redacted fields are not shown.

import { InstanceUnknown } from "../../../machine/errors.js";
import { instanceKey } from "../../../machine/instance-key.js";
import { redact } from "../../../machine/redact.js";
import type { InstanceEvent, TimerRecord } from "../../../store/contract/machine/machines.js";
import { type Call, defineCommand, type Options, type Report } from "../../command.js";
import { decode } from "../../text/payload-text.js";
import { listText } from "../../text/table.js";
import { clockTime, isoTime, timeAgo } from "../../text/time-ago.js";
import { instanceJson, shownState } from "./instances.js";

const MOST_EVENTS = 1000;

const OPTIONS = { retry: { type: "boolean", description: "try failed timers again" } } as const satisfies Options;

export const instance = defineCommand({
  name: "instance",
  takes: ["MACHINE", "ID"],
  summary: "the state, timers and history of a machine instance",
  details: "--retry tries failed timers again.",
  options: OPTIONS,
  run: showInstance,
});

async function showInstance(call: Call<typeof OPTIONS>): Promise<Report> {
  const [machine, id] = call.arguments as [string, string];
  const { machines } = await call.store();
  const key = instanceKey(call.env, machine, id);
  const [loaded] = await machines.load([key]);
  if (!loaded) throw new InstanceUnknown(machine, id);
  const retried = call.values.retry ? await machines.retryTimers(key) : null;
  const [timers, events] = [await machines.timers(key), await machines.events(key, { after: 0, limit: MOST_EVENTS })];
  const history = events.map((event) => ({ ...event, shown: shownEvent(event, loaded.redact) }));
  const now = call.world.wallNow();
  const head = [`${machine} ${id}: ${shownState(loaded.value)}, ${loaded.status}, sequence ${loaded.seq}`];
  if (loaded.problem !== null) head.push(`problem: ${loaded.problem}`);
  if (retried !== null) head.push(`${retried} timers will be tried again`);
  const entries = history.map(({ seq, at, name, by, shown }) => ({
    SEQ: seq,
    AT: clockTime(at, true),
    EVENT: name,
    BY: by ?? "",
    VALUE: shown,
  }));
  const parts = [`${head.join("\n")}\n`, ...(timers.length === 0 ? [] : [timersText(timers, now, call)])];
  const text = [...parts, listText(entries, ["VALUE"], call)].join("\n");
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
  return { text, json };
}

function timersText(timers: readonly TimerRecord[], now: number, call: Call<typeof OPTIONS>): string {
  const records = timers.map(({ name, dueAt, state, attempts, problem }) => ({
    TIMER: name,
    DUE: timeAgo(dueAt, now),
    STATE: { text: state, ...(state === "dead" && { colour: "red" as const }) },
    TRIES: attempts,
    PROBLEM: problem ?? "",
  }));
  return listText(records, ["PROBLEM"], call);
}

function timerJson({ name, kind, generation, dueAt, attempts, state, problem }: TimerRecord) {
  return { name, kind, generation, dueAt: isoTime(dueAt), attempts, state, problem };
}

function shownEvent({ kind, payload }: InstanceEvent, paths: readonly string[]): string {
  const decoded = decode(payload);
  if ("unreadable" in decoded) return decoded.unreadable;
  return JSON.stringify(redact(decoded.value, kind === "start" ? "input" : "event", paths)) ?? "";
}
