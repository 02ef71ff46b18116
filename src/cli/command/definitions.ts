// `holdfast definitions`: programs that live in the database; shows, saves, switches and removes them.

import { readFile } from "node:fs/promises";
import { type DefinitionInfo, type Definitions, definitionsIn } from "../../client/definitions.js";
import type { Call, Command, Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { tableLines } from "../text/table.js";
import { isoTime, timeAgo } from "../text/time-ago.js";

const VERBS = ["show", "save", "enable", "disable", "remove"] as const;
type Verb = (typeof VERBS)[number];

export const definitions: Command = {
  name: "definitions",
  takes: ["[show|save|enable|disable|remove]", "[NAME]", "[FILE]"],
  summary: "actors and DAGs that live in the database; shows, saves, switches on and off, removes",
  details:
    "`save NAME FILE` reads JSON, an actor's or (with `tasks`) a DAG's, and refuses what no node could work on. Nodes load it\n" +
    "without a restart; runs go on with the version they began with. `disable`: nothing starts it any more, what it has begun\n" +
    "goes on. `remove` is refused while runs of it have not ended.",
  options: {
    over: { type: "string", value: "N", says: "save only over this version; 0: only when there is none" },
  },
  run: async (call) => {
    const [verb, name, file] = call.arguments;
    const all = definitionsIn(await call.store(), call.env, call.actor);
    if (verb === undefined) return listed(call, await all.list());
    if (!VERBS.includes(verb as Verb))
      throw new CommandMisused(`${JSON.stringify(verb)} is no verb of definitions; it has ${VERBS.join(", ")}`);
    if (name === undefined) throw new CommandMisused(`definitions ${verb} needs a NAME`);
    return verb === "save" ? save(call, all, name, file) : act(all, verb as Exclude<Verb, "save">, name);
  },
};

async function save(call: Call, all: Definitions, name: string, file: string | undefined): Promise<Report> {
  if (file === undefined) throw new CommandMisused("definitions save needs a NAME and a FILE");
  const body = await readBody(file);
  const { over } = call.values;
  const version = await all.save(name, body, over === undefined ? {} : { over: Number(over) });
  return { text: `${name} is saved as version ${version}.\n`, json: { name, version } };
}

async function readBody(file: string): Promise<object> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as object;
  } catch (error) {
    throw new CommandMisused(`${file} cannot be read as JSON: ${(error as Error).message}`);
  }
}

async function act(all: Definitions, verb: Exclude<Verb, "save">, name: string): Promise<Report> {
  const found = (await all.list()).find((one) => one.name === name);
  if (!found) throw new CommandMisused(`there is no definition ${JSON.stringify(name)}; see holdfast definitions`);
  if (verb === "show") return { text: `${JSON.stringify(found.body, null, 2)}\n`, json: { definition: shown(found) } };
  await all[verb](name, { kind: found.kind });
  const told = { enable: "is on", disable: "is off; what it has begun goes on", remove: "is removed" }[verb];
  return { text: `${name} ${told}.\n`, json: { name, verb } };
}

function listed(call: Call, list: readonly DefinitionInfo[]): Report {
  const json = { definitions: list.map(shown) };
  if (list.length === 0)
    return { text: `No definitions in env ${call.env}. Save one: holdfast definitions save NAME FILE.\n`, json };
  const columns = [
    { title: "NAME", flexible: true },
    { title: "KIND" },
    { title: "VERSION" },
    { title: "STATE" },
    { title: "CHANGED" },
    { title: "BY" },
  ];
  const now = call.world.wallNow();
  const rows = list.map(({ name, kind, version, enabled, at, by }) => [
    ...[name, kind, String(version)],
    enabled ? { text: "on" } : { text: "off", colour: "yellow" as const },
    ...[timeAgo(at, now), by],
  ]);
  return { text: `${tableLines({ columns, rows }, call.width, call.paint).join("\n")}\n`, json };
}

function shown({ at, ...rest }: DefinitionInfo): Readonly<Record<string, unknown>> {
  return { ...rest, at: isoTime(at) };
}
