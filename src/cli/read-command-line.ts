// Parses a command line with commander: finds the command, its values and arguments, or the help that was asked for.

import { PACKAGE_VERSION } from "../kernel/package-version.js";
import type { Command, CommandOption, Options } from "./command.js";
import { COMMAND_GROUPS, COMMAND_NAMES, loadCommand } from "./commands.js";
import { CommandMisused } from "./error.js";
import { CommanderError, Parser, ParserOption } from "./library/parse.js";
import { COMMON_OPTIONS } from "./options.js";

export interface Read {
  readonly command: Command;
  readonly values: Readonly<Record<string, unknown>>;
  readonly arguments: readonly string[];
}

/** Text to print instead of a report: `asked` is false when a command is missing. */
export interface HelpText {
  readonly is: "help" | "version";
  readonly text: string;
  readonly asked: boolean;
}

const EXIT_CODES = `
Exit codes: 0 ok, 1 failed (not found, refused),
            2 wrong usage, 3 database unreachable
COMMAND --help describes one command.`;

export async function readCommandLine(words: readonly string[], width: number): Promise<Read | HelpText> {
  const named = parserWithOptions().parseOptions([...words]).operands[0];
  // Only the command that was named is loaded: all of them take four times as long.
  const isAsked = named === "help";
  const isHelp = (named === undefined && !words.includes("--version")) || isAsked;
  const loaded = await Promise.all(
    (isHelp ? COMMAND_NAMES : COMMAND_NAMES.filter((name) => name === named)).map(loadCommand),
  );
  let read: Read | null = null;
  let help = "";
  const root = rootParser((text) => (help += text), width);
  for (const name of COMMAND_NAMES) {
    const command = loaded.find((one) => one.name === name);
    const parser = root.command(name).helpGroup(groupOf(name)).configureHelp({ showGlobalOptions: true });
    if (command)
      describe(parser, command).action((...given) => {
        const parsed = given.at(-1) as Parser;
        read = { command, values: valuesOf(parsed, command.options), arguments: parsed.args };
      });
  }
  try {
    root.parse([...words], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.version") return { is: "version", text: help, asked: true };
    if (error.code === "commander.helpDisplayed") return { is: "help", text: help, asked: true };
    if (error.code === "commander.help" && (isAsked || words.length === 0))
      return { is: "help", text: help, asked: isAsked };
    if (error.code === "commander.help") throw new CommandMisused("A command is missing");
    throw new CommandMisused(plain(error.message));
  }
  return checked(read!);
}

/** One command, without values: for tests and completion. */
export function describe(parser: Parser, { takes, summary, details, options }: Command): Parser {
  parser.summary(summary).usage([...takes, "[options]"].join(" "));
  parser.description(
    `${summary[0]!.toUpperCase()}${summary.slice(1)}.${details ? ` ${details.replaceAll("\n", " ")}` : ""}`,
  );
  for (const name of takes) parser.argument(name.startsWith("[") ? name : `<${name}>`);
  for (const [name, option] of Object.entries(options)) parser.addOption(parserOption(name, option));
  return parser;
}

function parserWithOptions(): Parser {
  const parser = new Parser("holdfast").exitOverride().helpOption("-h, --help", "this text");
  for (const [name, option] of Object.entries(COMMON_OPTIONS)) parser.addOption(parserOption(name, option));
  return parser;
}

function rootParser(write: (text: string) => void, width: number): Parser {
  return parserWithOptions()
    .usage("COMMAND [options]")
    .helpCommand("help [COMMAND]", "the help of a command")
    .version(PACKAGE_VERSION, "--version", "the version of this package")
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeOut: write,
      writeErr: (text) => (text.startsWith("error:") || text.startsWith("\n(") ? undefined : write(text)),
      getOutHelpWidth: () => width,
      getErrHelpWidth: () => width,
      outputError: () => {},
    })
    .addHelpText("after", ({ command }) => (command.parent ? "" : EXIT_CODES));
}

function parserOption(name: string, { short, value, description, parse }: CommandOption): ParserOption {
  const option = new ParserOption(`${short ? `-${short}, ` : ""}--${name}${value ? ` <${value}>` : ""}`, description);
  return parse ? option.argParser(parse) : option;
}

/** By the names that the command declares; commander's own are in camel case. */
function valuesOf(parser: Parser, options: Options): Read["values"] {
  const found = parser.optsWithGlobals<Record<string, unknown>>();
  const names = Object.keys({ ...COMMON_OPTIONS, ...options });
  return Object.fromEntries(names.map((name) => [name, found[new ParserOption(`--${name}`).attributeName()]]));
}

function checked(read: Read): Read {
  if (!read.values["watch"] || !read.values["json"]) return read;
  throw new CommandMisused("--watch and --json cannot be combined; run the command again for another JSON document");
}

function groupOf(name: string): string {
  return COMMAND_GROUPS.find(({ names }) => names.includes(name))!.title;
}

/** Hides a database address in the wrong place, which contains a password, and puts the suggestion on the same line. */
function plain(message: string): string {
  const text = message.replace(/^error: /, "").replace(/:\/\/[^\s']*/gs, "://…");
  return text.replace(/\s*\n\(Did you mean (.*)\?\)$/s, "; did you mean $1?");
}
