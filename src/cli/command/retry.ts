// `holdfast retry`: retries a run that failed, died or was quarantined.

import { RunUnknown } from "../../client/run-handle.js";
import { taskNamed } from "../../client/run-tasks.js";
import { type Call, type CommandOption, defineCommand, type Options, type Report } from "../command.js";
import { CommandMisused, RunIsTask, RunNotRetried } from "../error.js";
import { findRun } from "../find-run.js";

export const FROM_START_OPTION: CommandOption = {
  type: "boolean",
  description: "run every step again; default: completed steps stay completed",
};

const OPTIONS = {
  "from-start": FROM_START_OPTION,
  task: { type: "string", value: "NAME", description: "only this task of a DAG, and what was skipped behind it" },
  after: { type: "boolean", description: "with --task: also all tasks that need it" },
} as const satisfies Options;

export const retry = defineCommand({
  name: "retry",
  takes: ["RUN"],
  summary: "retry a failed, dead or quarantined run, or a task of an ended DAG",
  details:
    "The run resumes where it stopped, and the last failed call is tried again. Of a DAG, the tasks that did not succeed\n" +
    "and all tasks that need them run again. With --task, only that task runs again, also when it succeeded.",
  options: OPTIONS,
  run: retryRun,
});

async function retryRun(call: Call<typeof OPTIONS>): Promise<Report> {
  const store = await call.store();
  const run = await findRun(call, call.arguments[0]!);
  const fromStart = call.values["from-start"] === true;
  const named = await namedTask(call, run.id);
  const asked = { by: call.actor, callId: call.world.token(), fromStart, ...named };
  const [answer] = await store.runs.retry([run.id], asked);
  if (answer!.outcome === "unknown") throw new RunUnknown(run.id);
  if (answer!.outcome === "task") throw new RunIsTask(run.id, answer!.of);
  if (answer!.outcome === "not retryable") throw new RunNotRetried(run.id, answer!.state);
  const where = fromStart ? "from the start" : named ? `with its task ${call.values.task}` : "where it stopped";
  return {
    text: `Run ${run.id} is queued and will resume ${where}.\n`,
    json: {
      runId: run.id,
      outcome: "retried",
      fromStart,
      ...(named && { task: call.values.task, after: named.after }),
    },
  };
}

async function namedTask(
  call: Call<typeof OPTIONS>,
  runId: string,
): Promise<{ tasks: readonly string[]; after: boolean } | null> {
  const { task, after, "from-start": fromStart } = call.values;
  if (typeof task !== "string") {
    if (after === true) throw new CommandMisused("--after needs --task");
    return null;
  }
  if (fromStart === true) throw new CommandMisused("--task and --from-start exclude each other");
  const page = await (await call.store()).journal.read(runId);
  return { tasks: [taskNamed(runId, page?.entries ?? [], task)], after: after === true };
}
