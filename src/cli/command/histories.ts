// `holdfast histories export`: writes the journals of runs to a file, to be replayed against other code.

import { writeFile } from "node:fs/promises";
import { RUN_STATES } from "../../kernel/run/run-state.js";
import { historiesOf, type RunHistory, readHistory } from "../../testing/replay/history.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { LIMIT_OPTION, limitOf, PROGRAM_OPTION, statesOption } from "../options.js";

const OPTIONS = {
  out: { type: "string", value: "FILE", description: "the file; default: standard output" },
  program: PROGRAM_OPTION,
  state: statesOption(RUN_STATES),
  limit: LIMIT_OPTION,
} as const satisfies Options;

export const histories = defineCommand({
  name: "histories",
  takes: ["export"],
  summary: "export journals of runs, to replay them against other code in tests",
  details:
    "The newest runs are exported, with all values in their journals: treat the file like the database.\n" +
    "`replay` of `holdfast/testing` reads it.",
  options: OPTIONS,
  run: exportHistories,
});

async function exportHistories(call: Call<typeof OPTIONS>): Promise<Report> {
  const [verb] = call.arguments;
  if (verb !== "export")
    throw new CommandMisused(`unknown verb ${JSON.stringify(verb)} of histories; the only one is export`);
  const store = await call.store();
  const { state: states, program, out } = call.values;
  const filter = { env: call.env, ...(states && { states }), ...(program !== undefined && { program }) };
  const { runs } = await store.runs.list(filter, { limit: limitOf(call.values) });
  const found: RunHistory[] = [];
  const progress = call.progress("histories read");
  try {
    for (const run of runs) {
      const history = await readHistory(store, run);
      if (history) found.push(history);
      progress.at(found.length, runs.length);
    }
  } finally {
    progress.end();
  }
  const written = historiesOf(found);
  if (out === undefined) return { text: `${JSON.stringify(written)}\n`, json: { ...written } };
  await writeFile(out, `${JSON.stringify(written)}\n`);
  return { text: `${found.length} histories are in ${out}.\n`, json: { histories: found.length, out } };
}
