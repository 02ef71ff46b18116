// `holdfast recover`: resumes a graph run with a damaged journal from the snapshot behind the gap.

import { openGraphs } from "../../client-place.js";
import { type Call, defineCommand, type Options, type Report } from "../../command.js";
import { CommandMisused } from "../../error.js";
import { findRun } from "../../find-run.js";

const OPTIONS = {
  why: { type: "string", value: "TEXT", description: "the reason, recorded in the journal" },
} as const satisfies Options;

export const recover = defineCommand({
  name: "recover",
  takes: ["RUN"],
  summary: "resume a graph run with a damaged journal from its last snapshot",
  details: "Entries before the snapshot are not read again: its history cannot be shown, forked or rewound any more.",
  options: OPTIONS,
  run: recoverRun,
});

async function recoverRun(call: Call<typeof OPTIONS>): Promise<Report> {
  const why = call.values.why;
  if (why === undefined) throw new CommandMisused("recover needs --why TEXT");
  const run = await findRun(call, call.arguments[0]!);
  await (await openGraphs(call)).recover(run.id, { by: call.actor, why });
  return { text: `Run ${run.id} resumes from its last snapshot.\n`, json: { runId: run.id, by: call.actor } };
}
