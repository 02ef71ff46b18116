// Repeats a command's report every second until ctrl-c.

import { sleep, type World } from "../kernel/world.js";
import { isStoreTrouble } from "../store/contract/trouble.js";
import type { Report } from "./command.js";
import type { Terminal } from "./text/terminal.js";

const EVERY_MS = 1_000;

/** Redraws from the upper left corner, clears each line to its end, then the rest of the screen: no flicker. */
const redrawn = (text: string) => `\x1b[H${text.replaceAll("\n", "\x1b[K\n")}\x1b[J`;

export async function watch(look: () => Promise<Report>, terminal: Terminal, world: World): Promise<void> {
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
