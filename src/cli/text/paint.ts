// Colours for terminals; off with NO_COLOR (no-color.org) or TERM=dumb.

import type { RunState } from "../../kernel/run/run-state.js";
import { colours } from "../library/text.js";
import type { Terminal } from "./terminal.js";

export type Colour = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "cyan" | "magenta";
/** Returns the text in that colour, or unchanged. */
export type Paint = (text: string, colour: Colour | undefined) => string;

export function paintFor({ isTTY, env }: Pick<Terminal, "isTTY" | "env">): Paint {
  const painter = colours.createColors(isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb");
  return (text, colour) => (colour === undefined ? text : painter[colour](text));
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
