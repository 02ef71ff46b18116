// `holdfast bench`: a short measurement on this database, in a schema that is dropped afterwards.

import { availableParallelism, loadavg } from "node:os";
import { systemWorld } from "../../kernel/system-world.js";
import { busyText, explain } from "../bench/explain.js";
import { measure } from "../bench/measure.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { openThrowAway } from "../connect.js";
import { NotConfirmed } from "../error.js";
import { wrapped } from "../library/text.js";
import { wholeNumber } from "../options.js";

const DEFAULT_SECONDS = 3;

const OPTIONS = {
  seconds: {
    type: "string",
    value: "N",
    description: `for each of the five parts, 1 to 60; default: ${DEFAULT_SECONDS}`,
    parse: (text: string) => wholeNumber("seconds", text, { from: 1, to: 60 }),
  },
} as const satisfies Options;

export const bench = defineCommand({
  name: "bench",
  takes: [],
  summary: "measure Holdfast on this database for some seconds, and explain the result",
  details:
    "One commit, starts, pick-up, a drain of empty runs and workflows of ten steps, by one node in this process. It works in a " +
    "schema of its own, which is dropped at the end, also after ctrl-c. It loads the server like a busy node: not for a production " +
    "database at its peak.",
  options: OPTIONS,
  run: benchmark,
});

async function benchmark(call: Call<typeof OPTIONS>): Promise<Report> {
  const { seconds = DEFAULT_SECONDS } = call.values;
  const signal = call.terminal.interrupted();
  const place = await openThrowAway(call.database, call.world);
  const progress = call.progress("parts measured");
  try {
    const server = await place.stores[0].examine();
    const figures = await measure({
      stores: place.stores,
      world: systemWorld(),
      partMs: seconds * 1_000,
      signal,
      onPart: progress.at,
    });
    if (signal.aborted)
      throw new NotConfirmed("Interrupted: there is no result. The schema of the measurement was dropped.");
    const explained = explain(figures, server);
    const busy = busyText(loadavg()[0]!, availableParallelism());
    const about = { postgres: server.versionText, synchronousCommit: server.synchronousCommit, pooled: server.pooled };
    return {
      text: textOf(
        explained,
        `PostgreSQL ${about.postgres}, synchronous_commit ${about.synchronousCommit}, ${seconds} s each, one process.`,
        call.width,
        busy,
      ),
      json: { ...about, seconds, figures, explained, busy },
    };
  } finally {
    progress.end();
    await place.drop();
  }
}

function textOf(explained: ReturnType<typeof explain>, head: string, width: number, busy: string | null): string {
  const names = Math.max(...explained.map(({ figure }) => figure.length));
  const values = Math.max(...explained.map(({ value }) => value.length));
  const lines = explained.map(({ figure, value, text }) => {
    const under = wrapped(text, width - 2).replaceAll("\n", "\n  ");
    return `${figure.padEnd(names)}  ${value.padStart(values)}\n  ${under}\n`;
  });
  return `${wrapped(head, width)}\n\n${lines.join("\n")}\n${wrapped(busy ?? CAUTION, width)}\n`;
}

const CAUTION =
  "A short measurement on a quiet machine. Your steps take their own time; figures of other machines do not compare.";
