// `holdfast retry`: retries a run that failed, died or was quarantined.

import { RunUnknown } from "../../client/run-handle.js";
import type { Call, Command, CommandOption, Report } from "../command.js";
import { RunIsTask, RunNotRetried } from "../error.js";
import { findRun } from "../find-run.js";

export const FROM_START_OPTION: CommandOption = {
  type: "boolean",
  description: "run every step again; default: completed steps stay completed",
};

export const retry: Command = {
  name: "retry",
  takes: ["RUN"],
  summary: "retry a failed, dead or quarantined run",
  details: "The run resumes where it stopped, and the last failed call is tried again.",
  options: { "from-start": FROM_START_OPTION },
  run: retryRun,
};

async function retryRun(call: Call): Promise<Report> {
  const store = await call.store();
  const run = await findRun(call, call.arguments[0]!);
  const fromStart = call.values["from-start"] === true;
  const [answer] = await store.runs.retry([run.id], { by: call.actor, callId: call.world.token(), fromStart });
  if (answer!.outcome === "unknown") throw new RunUnknown(run.id);
  if (answer!.outcome === "task") throw new RunIsTask(run.id, answer!.of);
  if (answer!.outcome === "not retryable") throw new RunNotRetried(run.id, answer!.state);
  const where = fromStart ? "from the start" : "where it stopped";
  return {
    text: `Run ${run.id} is queued and will resume ${where}.\n`,
    json: { runId: run.id, outcome: "retried", fromStart },
  };
}
