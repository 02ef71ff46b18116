// `holdfast send`: stores an event for an instance; a node that has the machine applies it.

import { Instances } from "../../../machine/instances.js";
import { NamedInstance } from "../../../machine/named-instance.js";
import { clientPlace } from "../../client-place.js";
import { type Call, defineCommand, type Options, type Report } from "../../command.js";
import { parseFields } from "../../options.js";
import { visible } from "../../text/visible.js";

const OPTIONS = {
  key: { type: "string", value: "KEY", description: "identifies the event; sending it again does nothing" },
} as const satisfies Options;

export const send = defineCommand({
  name: "send",
  takes: ["MACHINE", "ID", "EVENT", "[JSON]"],
  summary: "send an event to an instance of a state machine",
  details:
    "JSON holds the event's other fields. A node that has the machine applies the event; if no transition takes it, nothing\n" +
    "happens. An event with the same --key is accepted once.",
  options: OPTIONS,
  run: sendEvent,
});

async function sendEvent(call: Call<typeof OPTIONS>): Promise<Report> {
  const [machine, id, type, json] = call.arguments as [string, string, string, string | undefined];
  const fields = json === undefined ? {} : parseFields(json, "The event's fields", `'{"cents": 300}'`);
  const key = call.values.key;
  const named = new NamedInstance(machine, id, new Instances(await clientPlace(call)));
  await named.send({ ...fields, type }, { by: call.actor, ...(key !== undefined && { key }) });
  const text = `${visible(machine)} ${visible(id)} has the event ${visible(type)}.\n`;
  return { text, json: { outcome: "accepted", machine, id, event: type } };
}
