// `holdfast pause` and `holdfast resume`: stop a run with its tasks, and let it go on.

import { askToPause, type Paused } from "../../client/ask-to-stop.js";
import { RunEnded, RunUnknown } from "../../client/run-handle.js";
import type { Call, Command, Report } from "../command.js";
import { RunNotPaused } from "../error.js";
import { findRun } from "../find-run.js";

export const pause: Command = {
  name: "pause",
  takes: ["RUN"],
  summary: "stop a run, and the tasks of a DAG, until it is resumed",
  details: "What runs is aborted and comes back when it is resumed; steps that are done stay done.",
  options: {},
  run: pauseRun,
};

export const resume: Command = {
  name: "resume",
  takes: ["RUN"],
  summary: "let a paused run go on",
  options: {},
  run: resumeRun,
};

async function pauseRun(call: Call): Promise<Report> {
  const store = await call.store();
  const { id } = await findRun(store, call.env, call.arguments[0]!);
  const answer = await askToPause({ runs: store.runs, world: call.world, runId: id, by: call.actor });
  if (answer.outcome === "unknown") throw new RunUnknown(id);
  if (answer.outcome === "ended") throw new RunEnded(id, answer.state);
  return { text: `${textOf(id, answer)}\n`, json: { ...answer, runId: id } };
}

function textOf(id: string, answer: Extract<Paused, { outcome: "paused" | "requested" }>): string {
  if (answer.outcome === "paused") return `Run ${id} is paused.`;
  if (!answer.acknowledged) return `Run ${id} is running; its holder was asked to pause it, and has not answered yet.`;
  return `Run ${id} is being paused: nothing more of it begins, and what runs was aborted. "holdfast show" says when it has ended.`;
}

async function resumeRun(call: Call): Promise<Report> {
  const store = await call.store();
  const { id } = await findRun(store, call.env, call.arguments[0]!);
  const answer = await store.runs.resume(id, { by: call.actor });
  if (answer.outcome === "unknown") throw new RunUnknown(id);
  if (answer.outcome === "not paused") throw new RunNotPaused(id, answer.state);
  return { text: `Run ${id} goes on.\n`, json: { outcome: answer.outcome, runId: id } };
}
