// Executes one command line: finds the command, runs it, prints its report or the error.

import { HoldfastError } from "../kernel/error.js";
import { envName, nodeName } from "../kernel/name.js";
import { sleep, type World } from "../kernel/world.js";
import { isStoreTrouble } from "../store/contract/trouble.js";
import type { Call, CommonValues, Report } from "./command.js";
import { COMMAND_NAMES } from "./commands.js";
import { connect } from "./connect.js";
import { CommandMisused, NotConfirmed } from "./error.js";
import { type HelpText, type Read, readCommandLine } from "./read-command-line.js";
import { paintFor } from "./text/paint.js";
import { NO_PROGRESS, progressOf } from "./text/progress.js";
import { type Terminal, widthOf } from "./text/terminal.js";
import { jsonLine, visible, withoutPasswords } from "./text/visible.js";

export async function runCommandLine(words: readonly string[], terminal: Terminal, world: World): Promise<ExitCode> {
  try {
    return await carryOut(words, terminal, world);
  } catch (error) {
    report(error, words, terminal);
    return exitCodeOf(error);
  }
}

async function carryOut(words: readonly string[], terminal: Terminal, world: World): Promise<ExitCode> {
  if (words[0] === "complete" && words[1] === "--") {
    const { completeWords } = await import("./complete-words.js");
    await completeWords(words.slice(2), terminal, world);
    return EXIT.ok;
  }
  const read = await readCommandLine(words, widthOf(terminal));
  if (!("command" in read)) return printed(read, words.includes("--json"), terminal);
  const { call, close } = openCall(read, terminal, world);
  try {
    if (read.values["watch"]) await watch(() => read.command.run(call), terminal, world);
    else {
      const { text, json } = await read.command.run(call);
      terminal.write(call.values.json ? `${jsonLine({ ok: true, ...json })}\n` : text);
    }
    return EXIT.ok;
  } finally {
    await close();
  }
}

function printed({ is, text, asked }: HelpText, json: boolean, terminal: Terminal): ExitCode {
  if (is === "version" && json) terminal.write(`${jsonLine({ ok: true, version: text.trim() })}\n`);
  else if (asked) terminal.write(text);
  else terminal.writeError(text);
  return asked ? EXIT.ok : EXIT.usage;
}

function openCall(read: Read, terminal: Terminal, world: World): { call: Call; close: () => Promise<void> } {
  const values: Call["values"] = read.values;
  const database = { url: values.url, schema: values.schema ?? "holdfast", terminal };
  let opening: ReturnType<typeof connect> | null = null;
  const call: Call = {
    arguments: read.arguments,
    values,
    env: envOf(values, terminal),
    database,
    world,
    width: widthOf(terminal),
    paint: paintFor(terminal),
    terminal,
    actor: actorOf(terminal),
    progress: (what) => (values.json ? NO_PROGRESS : progressOf(what, terminal, world)),
    confirm: (question) => (read.values["yes"] ? Promise.resolve() : confirmed(question, values.json, terminal)),
    store() {
      opening ??= connect(database);
      return opening;
    },
  };
  const close = async () => {
    const store = await opening?.catch(() => null);
    await store?.close();
  };
  return { call, close };
}

/** Nothing waits for a person who is not there. */
async function confirmed(question: string, json: boolean | undefined, { ask }: Terminal): Promise<void> {
  if (!ask || json) throw new CommandMisused(`${question} Nothing was done: add --yes where no person can answer`);
  if ((await ask(question)) !== true) throw new NotConfirmed("Nothing was done.");
}

function envOf(values: CommonValues, { env }: Terminal): string {
  if (values.env !== undefined) return envName(values.env, "--env");
  return envName(env["HOLDFAST_ENV"] || "default", "HOLDFAST_ENV");
}

function actorOf({ env }: Terminal): string {
  const user = env["USER"] || env["LOGNAME"] || env["USERNAME"];
  try {
    return nodeName(user ? `cli:${user}` : "cli");
  } catch {
    // The user's name contains control characters.
    return "cli";
  }
}

/** An expected error is printed as a sentence; only an unexpected one comes with its stack. */
function report(error: unknown, words: readonly string[], terminal: Terminal): void {
  const expected = error instanceof HoldfastError;
  const message = withoutPasswords(error instanceof Error ? error.message : String(error));
  if (words.includes("--json")) {
    terminal.write(`${jsonLine({ ok: false, code: expected ? error.code : "UNEXPECTED", message })}\n`);
    return;
  }
  terminal.writeError(`holdfast: ${visible(message)}\n`);
  if (error instanceof CommandMisused) {
    const name = words.find((word) => COMMAND_NAMES.includes(word));
    terminal.writeError(`See holdfast ${name ? `${name} ` : ""}--help.\n`);
  } else if (!expected && error instanceof Error) {
    const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
    terminal.writeError(`This is a bug; please report it.\n${frames.map((line) => `${visible(line)}\n`).join("")}`);
  }
}

/** Exit codes, so that scripts need not parse messages. */
const EXIT = {
  ok: 0,
  /** Not found, rejected, or a bug. */
  failed: 1,
  /** The command line, or a value on it, was not valid. */
  usage: 2,
  /** The database does not answer, or refuses the login. */
  unreachable: 3,
} as const;

type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const CODES: Readonly<Record<string, ExitCode>> = {
  COMMAND_MISUSED: EXIT.usage,
  DATABASE_NOT_SET: EXIT.usage,
  INVALID_INPUT: EXIT.usage,
  LIMIT_EXCEEDED: EXIT.usage,
  DATABASE_UNREACHABLE: EXIT.unreachable,
  STORE_UNAVAILABLE: EXIT.unreachable,
  STORE_REFUSED: EXIT.unreachable,
};

function exitCodeOf(error: unknown): ExitCode {
  return error instanceof HoldfastError ? (CODES[error.code] ?? EXIT.failed) : EXIT.failed;
}

const EVERY_MS = 1_000;

/** Redraws from the upper left corner, clears each line to its end, then the rest of the screen: no flicker. */
const redrawn = (text: string) => `\x1b[H${text.replaceAll("\n", "\x1b[K\n")}\x1b[J`;

/** Repeats a command's report every second until ctrl-c. */
async function watch(look: () => Promise<Report>, terminal: Terminal, world: World): Promise<void> {
  const interrupted = terminal.interrupted();
  while (!interrupted.aborted) {
    const text = await look().then(({ text }) => text, stillAway);
    if (interrupted.aborted) return;
    terminal.write(terminal.isTTY ? redrawn(text) : `${text}\n`);
    await sleep(world, EVERY_MS, interrupted).catch(() => {});
  }
}

/** Keeps watching through a restart of the database. */
function stillAway(error: unknown): string {
  if (isStoreTrouble(error)) return "The database does not answer; trying again.\n";
  throw error;
}
