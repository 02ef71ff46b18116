// `holdfast histories export`: writes the journals of runs to a file, to be replayed against other code.

import { writeFile } from "node:fs/promises";
import { historiesOf, type RunHistory, readHistory } from "../../testing/replay/history.js";
import type { Call, Command, Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { LIMIT_OPTION, limitOption, statesOption, textOption } from "../options.js";

export const histories: Command = {
  name: "histories",
  takes: ["export"],
  summary: "export journals of runs, to replay them against other code in tests",
  details:
    "The newest runs are exported, with all values in their journals: treat the file like the database.\n" +
    "`replay` of `holdfast/testing` reads it.",
  options: {
    out: { type: "string", value: "FILE", description: "the file; default: standard output" },
    program: { type: "string", value: "NAME", description: "only runs of this program" },
    state: { type: "string", value: "S", description: "only these states, separated by commas" },
    limit: LIMIT_OPTION,
  },
  run: exportHistories,
};

async function exportHistories(call: Call): Promise<Report> {
  const [verb] = call.arguments;
  if (verb !== "export")
    throw new CommandMisused(`unknown verb ${JSON.stringify(verb)} of histories; the only one is export`);
  const store = await call.store();
  const states = statesOption(call.values);
  const program = textOption(call.values, "program");
  const filter = { env: call.env, ...(states && { states }), ...(program !== undefined && { program }) };
  const { runs } = await store.runs.list(filter, { limit: limitOption(call.values) });
  const found: RunHistory[] = [];
  for (const run of runs) {
    const history = await readHistory(store, run);
    if (history) found.push(history);
  }
  const written = historiesOf(found);
  const out = textOption(call.values, "out");
  if (out === undefined) return { text: `${JSON.stringify(written)}\n`, json: { ...written } };
  await writeFile(out, `${JSON.stringify(written)}\n`);
  return { text: `${found.length} histories are in ${out}.\n`, json: { histories: found.length, out } };
}
