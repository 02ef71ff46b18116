// Answers a shell that asks how a command line may continue: commands, options, states, and names from the database.

import { sleep, type World } from "../kernel/world.js";
import type { Command } from "./command.js";
import { COMMAND_NAMES, loadCommand } from "./commands.js";
import { connect } from "./connect.js";
import { Completions } from "./library/completion.js";
import { COMMON_OPTIONS } from "./options.js";
import type { Terminal } from "./text/terminal.js";

/** Suggested values and what they are. */
type Values = readonly (readonly [value: string, about: string])[];
type Kind = "RUN" | "PROGRAM" | "NODE" | "QUEUE";

/** A shell waits for the answer: a database that is slower suggests nothing. */
const PATIENCE_MS = 1_000;
const MOST_RUNS = 50;
/** Shells expand what they are given: a name with `$(…)` in it would be executed. */
const PLAIN = /^[\w.:@-]+$/;

/** Which values an option takes, by its name. */
const OPTION_KINDS: Readonly<Record<string, Kind>> = {
  program: "PROGRAM",
  queue: "QUEUE",
  node: "NODE",
  parent: "RUN",
};

export async function completeWords(words: readonly string[], terminal: Terminal, world: World): Promise<void> {
  const named = words.find((word) => COMMAND_NAMES.includes(word));
  // A shell waits: once the command is known, only that one is loaded.
  const commands = await Promise.all((named === undefined ? COMMAND_NAMES : [named]).map(loadCommand));
  const [command] = commands;
  const known =
    named !== undefined && command && asksDatabase(command) ? await fromDatabase(words, terminal, world) : {};
  const root = new Completions();
  for (const { name, summary, takes, options } of commands) {
    const entry = root.command(name, summary);
    for (const [i, take] of takes.entries()) {
      const values = valuesOf(take, known);
      // Arguments are known by their name; `diff` takes two runs.
      entry.argument(`${i} ${take}`, (suggest) => values.forEach(([value, about]) => void suggest(value, about)));
    }
    for (const [option, { type, description, choices, short }] of Object.entries({
      ...options,
      ...COMMON_OPTIONS,
    } as Command["options"])) {
      if (type === "boolean") entry.option(option, description, short ?? "");
      else {
        const values = choices?.map((choice) => [choice, ""] as const) ?? known[OPTION_KINDS[option]!] ?? [];
        entry.option(option, description, (suggest) => values.forEach(([value, about]) => void suggest(value, about)));
      }
    }
  }
  root.parse([...words]);
}

/** `[pause|resume]` takes one of its words; `RUN` and the like take what the database has. */
function valuesOf(take: string, known: Readonly<Partial<Record<string, Values>>>): Values {
  const name = take.replace(/[[\]]/g, "");
  return known[name] ?? (/^[a-z_|]+$/.test(name) ? name.split("|").map((word) => [word, ""] as const) : []);
}

function asksDatabase({ takes, options }: Command): boolean {
  const kinds: readonly string[] = Object.values(OPTION_KINDS);
  return (
    takes.some((take) => kinds.includes(take.replace(/[[\]]/g, ""))) ||
    Object.keys(OPTION_KINDS).some((name) => name in options)
  );
}

async function fromDatabase(
  words: readonly string[],
  terminal: Terminal,
  world: World,
): Promise<Partial<Record<Kind, Values>>> {
  const given = (name: string) => words[words.indexOf(`--${name}`) + 1];
  const has = (name: string) => words.includes(`--${name}`);
  const env = (has("env") ? given("env") : terminal.env["HOLDFAST_ENV"]) || "default";
  const database = {
    url: has("url") ? given("url") : undefined,
    schema: (has("schema") && given("schema")) || "holdfast",
    terminal,
  };
  const reading = read(database, env).catch(() => ({}));
  return Promise.race([reading, sleep(world, PATIENCE_MS).then(() => ({}))]);
}

async function read(database: Parameters<typeof connect>[0], env: string): Promise<Partial<Record<Kind, Values>>> {
  const store = await connect(database);
  try {
    const [{ runs }, nodes, queues] = await Promise.all([
      store.runs.list({ env }, { limit: MOST_RUNS }),
      store.nodes.list({ env }),
      store.queues.list(env),
    ]);
    const programs = new Set([
      ...runs.map(({ group }) => group.program),
      ...nodes.flatMap(({ serves }) => serves.map(({ program }) => program)),
    ]);
    const named = (names: Iterable<string>, about: (name: string) => string): Values =>
      [...names].filter((name) => PLAIN.test(name)).map((name) => [name, about(name)]);
    const alive = new Set(nodes.filter((node) => node.alive).map(({ name }) => name));
    return {
      RUN: runs.map(({ id, group, state }) => [id, `${group.program}, ${state}`]),
      PROGRAM: named(programs, () => "program"),
      NODE: named(new Set(nodes.map(({ name }) => name)), (name) => (alive.has(name) ? "alive" : "silent")),
      QUEUE: named(
        queues.map(({ queue }) => queue),
        () => "queue",
      ),
    };
  } finally {
    await store.close();
  }
}
