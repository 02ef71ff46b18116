// Executes one command line: finds the command, runs it, prints its report or the error.

import { HoldfastError } from "../kernel/error.js";
import { envName, nodeName } from "../kernel/name.js";
import { PACKAGE_VERSION } from "../kernel/package-version.js";
import type { World } from "../kernel/world.js";
import type { Call } from "./command.js";
import { COMMAND_NAMES, loadCommand } from "./commands.js";
import { connect } from "./connect.js";
import { CommandMisused } from "./error.js";
import { EXIT, type ExitCode, exitCodeOf } from "./exit-code.js";
import { commandHelp, overallHelp } from "./help.js";
import { textOption } from "./options.js";
import { findCommand, type Read, readArguments } from "./read-arguments.js";
import { paintFor } from "./text/paint.js";
import { type Terminal, widthOf } from "./text/terminal.js";
import { jsonLine, visible, withoutPasswords } from "./text/visible.js";
import { watch } from "./watch.js";

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
    actor: actorOf(terminal),
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
