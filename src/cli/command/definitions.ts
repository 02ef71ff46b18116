// `holdfast definitions`: lists, saves, enables, disables and removes programs stored in the database.

import { readFile } from "node:fs/promises";
import { type DefinitionInfo, type Definitions, definitionsIn } from "../../client/definitions.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { CommandMisused, DefinitionUnknown } from "../error.js";
import { verbOf, WATCH_OPTION, wholeNumber } from "../options.js";
import { listText } from "../text/table.js";
import { isoTime, timeAgo } from "../text/time-ago.js";

const VERBS = ["show", "save", "enable", "disable", "remove"] as const;
type Verb = (typeof VERBS)[number];

const OPTIONS = {
  over: {
    type: "string",
    value: "N",
    description: "save only over this version; 0: only if none exists",
    parse: (text: string) => wholeNumber("over", text, { from: 0, to: 999_999_999 }),
  },
  watch: WATCH_OPTION,
} as const satisfies Options;

export const definitions = defineCommand({
  name: "definitions",
  takes: ["[show|save|enable|disable|remove]", "[NAME]", "[FILE]"],
  summary: "list, save, enable, disable or remove actors and DAGs stored in the database",
  details:
    "`save NAME FILE` reads the JSON of an actor or (with `tasks`) of a DAG, and rejects one that no node could execute. Nodes\n" +
    "load it without a restart; runs continue with the version they began with. `disable`: nothing starts it any more, runs that\n" +
    "have begun continue. `remove` fails while runs of it have not ended.",
  options: OPTIONS,
  run: async (call) => {
    const [, name, file] = call.arguments;
    const verb = verbOf(call, "definitions", VERBS);
    const all = definitionsIn(await call.store(), call.env, call.actor);
    if (verb === undefined) return listed(call, await all.list());
    if (name === undefined) throw new CommandMisused(`definitions ${verb} needs a NAME`);
    return verb === "save" ? save(call, all, name, file) : act(all, verb, name);
  },
});

async function save(
  call: Call<typeof OPTIONS>,
  all: Definitions,
  name: string,
  file: string | undefined,
): Promise<Report> {
  if (file === undefined) throw new CommandMisused("definitions save needs a NAME and a FILE");
  const body = await readBody(file);
  const { over } = call.values;
  const version = await all.save(name, body, over === undefined ? {} : { over });
  return { text: `${name} was saved as version ${version}.\n`, json: { name, version } };
}

async function readBody(file: string): Promise<object> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as object;
  } catch (error) {
    throw new CommandMisused(`${file} cannot be read as JSON: ${(error as Error).message}`);
  }
}

const DONE = { enable: "is enabled", disable: "is disabled; runs that have begun continue", remove: "is removed" };

async function act(all: Definitions, verb: Exclude<Verb, "save">, name: string): Promise<Report> {
  const found = (await all.list()).find((one) => one.name === name);
  if (!found) throw new DefinitionUnknown(name);
  if (verb === "show") return { text: `${JSON.stringify(found.body, null, 2)}\n`, json: { definition: shown(found) } };
  await all[verb](name, { kind: found.kind });
  return { text: `${name} ${DONE[verb]}.\n`, json: { name, verb } };
}

function listed(call: Call<typeof OPTIONS>, list: readonly DefinitionInfo[]): Report {
  const json = { definitions: list.map(shown) };
  if (list.length === 0)
    return { text: `No definitions in env ${call.env}. Save one: holdfast definitions save NAME FILE.\n`, json };
  const now = call.world.wallNow();
  const records = list.map(({ name, kind, version, enabled, at, by }) => ({
    NAME: name,
    KIND: kind,
    VERSION: String(version),
    STATE: enabled ? "on" : { text: "off", colour: "yellow" as const },
    CHANGED: timeAgo(at, now),
    BY: by,
  }));
  return { text: listText(records, ["NAME"], call), json };
}

function shown({ at, ...rest }: DefinitionInfo): Readonly<Record<string, unknown>> {
  return { ...rest, at: isoTime(at) };
}
