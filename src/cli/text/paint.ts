// Colours for terminals; off with NO_COLOR (no-color.org) or TERM=dumb.

import type { RunState } from "../../kernel/run/run-state.js";
import type { Terminal } from "./terminal.js";

export type Colour = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "cyan" | "magenta";
/** Returns the text in that colour, or unchanged. */
export type Paint = (text: string, colour: Colour | undefined) => string;

const CODES: Readonly<Record<Colour, number>> = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
};

export function paintFor({ isTTY, env }: Pick<Terminal, "isTTY" | "env">): Paint {
  const coloured = isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  return (text, colour) => (coloured && colour !== undefined ? `\x1b[${CODES[colour]}m${text}\x1b[0m` : text);
}

export const STATE_COLOURS: Readonly<Record<RunState, Colour>> = {
  blocked: "dim",
  held: "dim",
  waiting: "yellow",
  running: "cyan",
  parked: "blue",
  paused: "magenta",
  completed: "green",
  failed: "red",
  cancelled: "dim",
  skipped: "dim",
  dead: "red",
  quarantined: "red",
};
