// `holdfast retry`: opens a run again that failed, died or was quarantined.

import { RunUnknown } from "../../client/run-handle.js";
import type { Call, Command, CommandOption, Report } from "../command.js";
import { RunIsTask, RunNotRetried } from "../error.js";
import { findRun } from "../find-run.js";

export const FROM_START_OPTION: CommandOption = {
  type: "boolean",
  says: "do every step again; when not given, what is done stays done",
};

export const retry: Command = {
  name: "retry",
  takes: ["RUN"],
  summary: "open a failed, dead or quarantined run again",
  details: "It goes on where it was, and what failed last is tried again.",
  options: { "from-start": FROM_START_OPTION },
  run: retryRun,
};

async function retryRun(call: Call): Promise<Report> {
  const store = await call.store();
  const run = await findRun(store, call.env, call.arguments[0]!);
  const fromStart = call.values["from-start"] === true;
  const [answer] = await store.runs.redrive([run.id], { by: call.actor, callId: call.world.token(), fromStart });
  if (answer!.outcome === "unknown") throw new RunUnknown(run.id);
  if (answer!.outcome === "task") throw new RunIsTask(run.id, answer!.of);
  if (answer!.outcome === "not ended so") throw new RunNotRetried(run.id, answer!.state);
  const where = fromStart ? "from its start" : "from where it was";
  return { text: `Run ${run.id} waits to go on ${where}.\n`, json: { runId: run.id, outcome: "redriven", fromStart } };
}
