// `holdfast send`: stores an event for an instance; a node that has the machine applies it.

import { codecs } from "../../kernel/codec/codecs.js";
import { withDefaults } from "../../kernel/setting/setting-options.js";
import { Instances } from "../../machine/instances.js";
import { NamedInstance } from "../../machine/named-instance.js";
import type { Call, Command, Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { textOption } from "../options.js";
import { visible } from "../text/visible.js";

export const send: Command = {
  name: "send",
  takes: ["MACHINE", "ID", "EVENT", "[JSON]"],
  summary: "send an event to an instance of a state machine",
  details:
    "JSON holds the event's other fields. A node that has the machine applies the event; if no transition takes it, nothing\n" +
    "happens. An event with the same --key is accepted once.",
  options: { key: { type: "string", value: "KEY", says: "identifies the event; sending it again does nothing" } },
  run: sendEvent,
};

async function sendEvent(call: Call): Promise<Report> {
  const [machine, id, type, json] = call.arguments as [string, string, string, string | undefined];
  const fields = parsed(json);
  const key = textOption(call.values, "key");
  const store = await call.store();
  const { crashLimit } = withDefaults({});
  const place = { store, codecs: codecs(), world: call.world, env: call.env, stack: null, crashLimit };
  const named = new NamedInstance(machine, id, new Instances(place));
  await named.send({ ...fields, type }, { by: call.actor, ...(key !== undefined && { key }) });
  const told = `${visible(machine)} ${visible(id)} has the event ${visible(type)}.\n`;
  return { text: told, json: { outcome: "accepted", machine, id, event: type } };
}

function parsed(json: string | undefined): object {
  if (json === undefined) return {};
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // reported below
  }
  throw new CommandMisused(`The event's fields must be a JSON object: '{"cents": 300}'.`);
}
