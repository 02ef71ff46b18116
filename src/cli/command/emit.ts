// `holdfast emit`: emits an event and lists the runs it started.

import { codecs } from "../../kernel/codec/codecs.js";
import type { EmittedRun } from "../../trigger/emitted.js";
import { Emitter } from "../../trigger/emitter.js";
import { event } from "../../trigger/event.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { parseJson } from "../options.js";
import { listText } from "../text/table.js";
import { visible } from "../text/visible.js";

const OPTIONS = {
  id: { type: "string", value: "ID", description: "identifies the event; emitting it again starts nothing" },
  stack: { type: "string", value: "NAME", description: "emit in this stack; default: none" },
} as const satisfies Options;

export const emit = defineCommand({
  name: "emit",
  takes: ["EVENT", "[JSON]"],
  summary: "emit an event, which starts every program that has a trigger for it",
  details:
    "JSON is the payload, an object; {} if omitted. The same event, by --id or otherwise by its payload, starts nothing a second\n" +
    "time. `holdfast subscriptions` shows which events start which programs.",
  options: OPTIONS,
  run: emitEvent,
});

async function emitEvent(call: Call<typeof OPTIONS>): Promise<Report> {
  const [name, json = "{}"] = call.arguments;
  const payload = parseJson(json, "The payload", `'{"id": 1}'`) as object;
  const type = event<object>()(name!);
  const { world, env } = call;
  const stack = call.values.stack ?? null;
  const emitter = new Emitter({ store: await call.store(), codecs: codecs(), world, env, stack });
  const id = call.values.id;
  const { runs } = await emitter.emit(type, payload, id === undefined ? {} : { id });
  return { text: textOf(call, name!, runs), json: { event: name, runs } };
}

function textOf(call: Call<typeof OPTIONS>, name: string, runs: readonly EmittedRun[]): string {
  if (runs.length === 0) return `No program is started by ${visible(name)} with this payload.\n`;
  const records = runs.map(({ program, outcome, runId }) => ({ PROGRAM: program, OUTCOME: outcome, RUN: runId ?? "" }));
  return listText(records, ["PROGRAM"], call);
}
