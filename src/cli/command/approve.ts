// `holdfast approve`: decides an approval of a run.

import { RunEnded, RunHandle } from "../../client/run-handle.js";
import { codecs } from "../../kernel/codec/codecs.js";
import { isEnded } from "../../kernel/run/run-state.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { CommandMisused, NothingToDecide } from "../error.js";
import { findRun } from "../find-run.js";
import { type OpenApproval, openApprovals } from "../open-approvals.js";
import { parseJson } from "../options.js";
import { visible } from "../text/visible.js";

const OPTIONS = {
  deny: { type: "boolean", description: "decide `denied` instead of `approved`" },
  choice: { type: "string", value: "C", description: "the choice, if the approval has choices of its own" },
  name: { type: "string", value: "N", description: "the approval, if the run asks for several" },
  note: { type: "string", value: "TEXT", description: "recorded with the decision" },
  data: { type: "string", value: "JSON", description: "structured data with the choice: `decision.data`" },
} as const satisfies Options;

export const approve = defineCommand({
  name: "approve",
  takes: ["RUN"],
  summary: "decide an approval that a run asks for",
  details:
    "Only the first decision counts; a later one fails and names who was first. `holdfast show RUN` shows the question.",
  options: OPTIONS,
  run: decide,
});

async function decide(call: Call<typeof OPTIONS>): Promise<Report> {
  const { values, world, actor } = call;
  if (values.deny && values.choice !== undefined) throw new CommandMisused("--deny and --choice cannot be combined");
  const store = await call.store();
  const run = await findRun(call, call.arguments[0]!);
  if (isEnded(run.state)) throw new RunEnded(run.id, run.state);
  const { entries } = (await store.journal.read(run.id)) ?? { entries: [] };
  const { name, nth, choices, hash } = theOne(run.id, openApprovals(entries), values.name);
  // A question that only asks for data has one choice.
  const only = choices.length === 1 && !values.deny ? choices[0] : undefined;
  const choice = values.choice ?? only ?? (values.deny ? "denied" : "approved");
  if (!choices.includes(choice)) {
    throw new CommandMisused(
      `${JSON.stringify(choice)} is not a choice of ${name}; pass --choice ${choices.join(" or ")}`,
    );
  }
  const note = call.values.note;
  const given = call.values.data;
  const data = given === undefined ? undefined : parseJson(given, "--data", `'{"like": "this"}'`);
  const handle = new RunHandle(run.id, store, codecs(), world);
  await handle.decide(name, { choice, by: actor, nth, shown: hash, data, ...(note !== undefined && { note }) });
  const text = `${visible(name)} of run ${run.id} was decided: ${visible(choice)}.\n`;
  return { text, json: { runId: run.id, name, choice, by: actor, ...(data !== undefined && { data }) } };
}

function theOne(runId: string, open: readonly OpenApproval[], name: string | undefined): OpenApproval {
  const [first, second] = open.filter((approval) => name === undefined || approval.name === name);
  if (!first) throw new NothingToDecide(runId, name);
  if (!second || name !== undefined) return first;
  throw new CommandMisused(
    `The run asks for several approvals; pass --name ${open.map((one) => one.name).join(" or ")}`,
  );
}
