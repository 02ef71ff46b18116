// `holdfast pause` and `holdfast resume`: stop a run with its tasks, and continue it.

import { askToPause, type Paused } from "../../client/ask-to-stop.js";
import { RunEnded, RunUnknown } from "../../client/run-handle.js";
import { type Call, defineCommand, type Report } from "../command.js";
import { RunNotPaused } from "../error.js";
import { findRun } from "../find-run.js";

export const pause = defineCommand({
  name: "pause",
  takes: ["RUN"],
  summary: "stop a run, and the tasks of a DAG, until it is resumed",
  details: "Running steps are aborted and run again after the resume; completed steps stay completed.",
  options: {},
  run: pauseRun,
});

export const resume = defineCommand({
  name: "resume",
  takes: ["RUN"],
  summary: "resume a paused run",
  options: {},
  run: resumeRun,
});

async function pauseRun(call: Call): Promise<Report> {
  const store = await call.store();
  const { id } = await findRun(call, call.arguments[0]!);
  const answer = await askToPause({ store, world: call.world, runId: id, by: call.actor });
  if (answer.outcome === "unknown") throw new RunUnknown(id);
  if (answer.outcome === "ended") throw new RunEnded(id, answer.state);
  return { text: `${textOf(id, answer)}\n`, json: { ...answer, runId: id } };
}

function textOf(id: string, answer: Extract<Paused, { outcome: "paused" | "requested" }>): string {
  if (answer.outcome === "paused") return `Run ${id} is paused.`;
  if (!answer.acknowledged) return `Run ${id} is running; its holder was asked to pause it, but has not answered yet.`;
  return `Run ${id} is being paused: nothing more of it begins, and running steps were aborted. "holdfast show" shows when they have ended.`;
}

async function resumeRun(call: Call): Promise<Report> {
  const store = await call.store();
  const { id } = await findRun(call, call.arguments[0]!);
  const answer = await store.runs.resume(id, { by: call.actor });
  if (answer.outcome === "unknown") throw new RunUnknown(id);
  if (answer.outcome === "not paused") throw new RunNotPaused(id, answer.state);
  return { text: `Run ${id} is resumed.\n`, json: { outcome: answer.outcome, runId: id } };
}
