// Triggers as data: parses the triggers of a definition in the database, and rejects unknown ones.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { type Fields, fields } from "../kernel/fields.js";
import { event, on } from "./event.js";
import { cron, every } from "./schedule.js";
import type { Trigger } from "./trigger.js";

const OF_EVENT = ["event", "where", "subject", "debounce", "once", "per"];
const OF_CRON = ["cron", "timezone", "catchUp", "per"];
const OF_INTERVAL = ["every", "catchUp", "per"];

export function triggersOf(path: string, triggers: unknown): readonly Trigger<unknown>[] {
  if (triggers === undefined) return [];
  if (!Array.isArray(triggers)) throw new InvalidInput(path, "must be a list of triggers");
  return triggers.map((trigger, i) => triggerOf(`${path}[${i}]`, trigger));
}

function triggerOf(path: string, trigger: unknown): Trigger<unknown> {
  const given = fields(path, trigger);
  if ("event" in given) {
    const { event: name, ...options } = fields(path, trigger, OF_EVENT);
    return on(event<Fields>()(name as string), options as never);
  }
  if ("cron" in given) {
    const { cron: line, ...options } = fields(path, trigger, OF_CRON);
    return cron(line as string, options as never);
  }
  if ("every" in given) {
    const { every: duration, ...options } = fields(path, trigger, OF_INTERVAL);
    toMs(duration as Duration, `${path}.every`);
    return every(duration as Duration, options as never);
  }
  throw new InvalidInput(path, "must have one of event, cron, every");
}
