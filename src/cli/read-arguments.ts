// Parses the words of a command line into a command and its values.

import { parseArgs } from "node:util";
import type { Command } from "./command.js";
import { COMMAND_NAMES } from "./commands.js";
import { CommandMisused } from "./error.js";
import { COMMON_OPTIONS } from "./options.js";

export interface Read {
  readonly command: Command;
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly arguments: readonly string[];
}

/** The command is the first word that is not an option; common options may precede it. Null: there is none. */
export function findCommand(words: readonly string[]): { name: string; rest: readonly string[] } | null {
  const { tokens } = parseArgs({
    args: [...words],
    options: parserOptions(COMMON_OPTIONS),
    strict: false,
    tokens: true,
  });
  const first = tokens.find((token) => token.kind === "positional");
  if (!first) return null;
  const name = first.value;
  if (COMMAND_NAMES.includes(name)) return { name, rest: words.filter((_, i) => i !== first.index) };
  const meant = nearest(name, COMMAND_NAMES);
  const hint = meant === null ? `the commands are ${COMMAND_NAMES.join(", ")}` : `did you mean ${meant}?`;
  throw new CommandMisused(`Unknown command ${quoted(name)}; ${hint}`);
}

export function readArguments(command: Command, words: readonly string[]): Read {
  const { values, positionals } = parsed(command, words);
  if (values["help"]) return { command, values, arguments: positionals };
  const needed = command.takes.filter((name) => !name.startsWith("["));
  const missing = needed[positionals.length];
  if (missing) throw new CommandMisused(`${missing} is missing`);
  const extra = positionals[command.takes.length];
  if (extra !== undefined) throw new CommandMisused(`unexpected argument ${quoted(extra)}`);
  if (values["watch"] && values["json"]) {
    throw new CommandMisused("--watch and --json cannot be combined; run the command again for another JSON document");
  }
  return { command, values, arguments: positionals };
}

function parsed({ options }: Command, words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: parserOptions({ ...options, ...COMMON_OPTIONS }),
      allowPositionals: true,
    });
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS")) throw error;
    // Only the first sentence: the rest explains how to pass a word that looks like an option.
    throw new CommandMisused((error as Error).message.split(". ")[0]!);
  }
}

/** Hides a database address in the wrong place: it contains a password. */
function quoted(word: string): string {
  return JSON.stringify(word.replace(/:\/\/.*$/s, "://…"));
}

function parserOptions(options: Command["options"]) {
  return Object.fromEntries(
    Object.entries(options).map(([name, { type, short }]) => [name, short ? { type, short } : { type }]),
  );
}

/** One edit per three letters: beyond that, the suggestion would be a guess. */
const LETTERS_PER_CHANGE = 3;

/** Suggests the closest known word (edit distance). */
export function nearest(typed: string, words: readonly string[]): string | null {
  const ranked = words.map((word) => ({ word, changes: changesTo(typed.slice(0, 40), word) }));
  const [best] = ranked.sort((a, b) => a.changes - b.changes);
  return best && best.changes <= best.word.length / LETTERS_PER_CHANGE ? best.word : null;
}

/** Insertions, deletions, substitutions and transpositions. */
function changesTo(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row[j] = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + same);
      if (swapped) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows[from.length]![to.length]!;
}
