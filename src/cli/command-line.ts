// Executes one command line: finds the command, runs it, prints its report or the error.

import { HoldfastError } from "../kernel/error.js";
import { envName, nodeName } from "../kernel/name.js";
import { PACKAGE_VERSION } from "../kernel/package-version.js";
import { sleep, type World } from "../kernel/world.js";
import { isStoreTrouble } from "../store/contract/trouble.js";
import type { Call, Report } from "./command.js";
import { COMMAND_NAMES, loadCommand } from "./commands.js";
import { connect } from "./connect.js";
import { CommandMisused } from "./error.js";
import { commandHelp, overallHelp } from "./help.js";
import { textOption } from "./options.js";
import { findCommand, type Read, readArguments } from "./read-arguments.js";
import { paintFor } from "./text/paint.js";
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
  const found = findCommand(words);
  if (found === null) return withoutCommand(words, terminal);
  const read = readArguments(await loadCommand(found.name), found.rest);
  if (read.values["help"]) {
    terminal.write(commandHelp(read.command));
    return EXIT.ok;
  }
  const { call, close } = openCall(read, terminal, world);
  try {
    if (read.values["watch"]) await watch(() => read.command.run(call), terminal, world);
    else {
      const { text, json } = await read.command.run(call);
      terminal.write(read.values["json"] ? `${jsonLine({ ok: true, ...json })}\n` : text);
    }
    return EXIT.ok;
  } finally {
    await close();
  }
}

async function withoutCommand(words: readonly string[], terminal: Terminal): Promise<ExitCode> {
  if (words.includes("--version")) {
    terminal.write(
      words.includes("--json") ? `${jsonLine({ ok: true, version: PACKAGE_VERSION })}\n` : `${PACKAGE_VERSION}\n`,
    );
    return EXIT.ok;
  }
  if (words.includes("--help") || words.includes("-h")) {
    terminal.write(await help());
    return EXIT.ok;
  }
  if (words.length > 0) throw new CommandMisused("A command is missing");
  terminal.writeError(await help());
  return EXIT.usage;
}

async function help(): Promise<string> {
  return overallHelp(await Promise.all(COMMAND_NAMES.map(loadCommand)));
}

function openCall(read: Read, terminal: Terminal, world: World): { call: Call; close: () => Promise<void> } {
  const { values } = read;
  const database = { url: textOption(values, "url"), schema: textOption(values, "schema") ?? "holdfast", terminal };
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
    progress: (line) => (values["json"] ? undefined : terminal.writeError(`${line}\n`)),
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

function envOf(values: Read["values"], { env }: Terminal): string {
  const given = textOption(values, "env");
  if (given !== undefined) return envName(given, "--env");
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
    const name = COMMAND_NAMES.find((one) => words.includes(one));
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
