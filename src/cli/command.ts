// The interface of a command: its arguments, its help, and a function from a call to a report.

import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import type { DatabaseOptions } from "./connect.js";
import type { Paint } from "./text/paint.js";
import type { Terminal } from "./text/terminal.js";

export interface CommandOption {
  readonly type: "string" | "boolean";
  readonly short?: string;
  /** Placeholder for the value in the help (`--limit N`). */
  readonly value?: string;
  readonly description: string;
}

export interface Command {
  readonly name: string;
  /** The positional arguments, in order; those in brackets are optional. */
  readonly takes: readonly string[];
  readonly summary: string;
  /** Further lines of the help. */
  readonly details?: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  run(call: Call): Promise<Report>;
}

/** One invocation of a command, with everything it may use. */
export interface Call {
  readonly arguments: readonly string[];
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly env: string;
  readonly database: DatabaseOptions;
  readonly world: World;
  readonly width: number;
  readonly paint: Paint;
  /** For commands that run until they are interrupted. */
  readonly terminal: Terminal;
  /** Who acts, for the journal: `cli:<user>`, or `cli`. */
  readonly actor: string;
  /** A line on standard error about work that takes long; nothing with --json. */
  readonly progress: (line: string) => void;
  /** Opened, and its schema checked, on first use; closed when the call ends. */
  store(): Promise<Store>;
}

export interface Report {
  /** For people; ends with a line break. */
  readonly text: string;
  /** For programs: printed on one line together with `ok: true`. */
  readonly json: Readonly<Record<string, unknown>>;
}
