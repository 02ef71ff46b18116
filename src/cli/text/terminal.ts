// The process around a command: its streams, environment, width and interrupts.

import type { Readable, Writable } from "node:stream";

export interface Terminal {
  write(text: string): void;
  writeError(text: string): void;
  /** Width of the window; undefined or 0 if unknown. */
  readonly columns: number | undefined;
  readonly isTTY: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborts at the first ctrl-c after this call; before it, ctrl-c ends the process. */
  interrupted(): AbortSignal;
  /** Reports each key until the returned function is called. Absent: there is no keyboard. */
  readonly keys?: (onKey: (key: string) => void) => () => void;
  /** Standard error, where it is a terminal: bars are drawn there. */
  readonly errors?: NodeJS.WriteStream;
  /** Standard input and output, for a command that another program talks to. */
  readonly pipes?: { readonly stdin: Readable; readonly stdout: Writable };
  /** Asks a person yes or no; null: interrupted. Absent: no person is there. */
  readonly ask?: (question: string) => Promise<boolean | null>;
}

/** Keys that were pressed quickly arrive together; an arrow or a function key is several characters after an escape. */
export function keysIn(data: string): readonly string[] {
  return data.startsWith("\x1b") ? [data] : [...data];
}

/** The width of tables when the window's width is unknown. */
const DEFAULT_COLUMNS = 100;
const NARROWEST = 40;

export function widthOf({ isTTY, columns }: Pick<Terminal, "isTTY" | "columns">): number {
  return isTTY && columns ? Math.max(columns, NARROWEST) : DEFAULT_COLUMNS;
}
