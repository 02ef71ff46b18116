// The interface of a command: its arguments, its help, and a function from a call to a report.

import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import type { DatabaseOptions } from "./connect.js";
import type { Paint } from "./text/paint.js";
import type { Progress } from "./text/progress.js";
import type { Terminal } from "./text/terminal.js";

export interface CommandOption<T = unknown> {
  readonly type: "string" | "boolean";
  readonly short?: string;
  /** Placeholder for the value in the help (`--limit N`). */
  readonly value?: string;
  readonly description: string;
  /** Turns the word into the value; throws CommandMisused. */
  readonly parse?: (text: string) => T;
  /** What the value may be, for shell completion. */
  readonly choices?: readonly string[];
}

export type Options = Readonly<Record<string, CommandOption>>;

type ByType<T> = T extends "boolean" ? boolean | undefined : string | undefined;
type ValueOf<O extends CommandOption> = O extends { readonly parse: (text: string) => infer T }
  ? T | undefined
  : ByType<O["type"]>;

/** The values of the declared options, by name: a name that is not declared does not compile. */
export type Values<O extends Options> = string extends keyof O
  ? Readonly<Record<string, unknown>>
  : { readonly [K in keyof O]: ValueOf<O[K]> };

/** The values of the options that every command has. */
export type CommonValues = {
  readonly url?: string | undefined;
  readonly schema?: string | undefined;
  readonly env?: string | undefined;
  readonly json?: boolean | undefined;
};

export interface Command<O extends Options = Options> {
  readonly name: string;
  /** The positional arguments, in order; those in brackets are optional. */
  readonly takes: readonly string[];
  readonly summary: string;
  /** More about it, in the help of the command. */
  readonly details?: string;
  readonly options: O;
  run(call: Call<O>): Promise<Report>;
}

/** Declares a command; `call.values` has the type that its options say. */
export function defineCommand<const O extends Options>(command: Command<O>): Command {
  return command;
}

/** One invocation of a command, with everything it may use. */
export interface Call<O extends Options = Options> {
  readonly arguments: readonly string[];
  readonly values: Values<O> & CommonValues;
  readonly env: string;
  readonly database: DatabaseOptions;
  readonly world: World;
  readonly width: number;
  readonly paint: Paint;
  /** For commands that run until they are interrupted. */
  readonly terminal: Terminal;
  /** Who acts, for the journal: `cli:<user>`, or `cli`. */
  readonly actor: string;
  /** Shows how far work is that takes long: `12 of 40 runs deleted`. Nothing is shown with --json. */
  progress(what: string): Progress;
  /** Asks before many runs are changed, unless --yes was given. Throws when no person can answer, or says no. */
  confirm(question: string): Promise<void>;
  /** Opened, and its schema checked, on first use; closed when the call ends. */
  store(): Promise<Store>;
}

export interface Report {
  /** For people; ends with a line break. */
  readonly text: string;
  /** For programs: printed on one line together with `ok: true`. */
  readonly json: Readonly<Record<string, unknown>>;
}
