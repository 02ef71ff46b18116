// Assembles the operations of people and DAGs on a run and its tasks.

import type { Admission, RunStore } from "../../contract/run/runs.js";
import { type NodeListeners, tellCalled } from "../node/attend.js";
import { cancelTasks } from "../run/cancel-run.js";
import { pauseRun, resumeRun } from "../run/pause-run.js";
import { stopProgress, unansweredIn } from "../run/stop-requests.js";
import type { Tables } from "../table/tables.js";
import { reconcileTasks } from "./reconcile-tasks.js";

export function taskOperations(
  tables: Tables,
  listeners: NodeListeners,
  withWakes: <T>(answer: T) => T,
  admit: (whom: Admission) => number,
): Pick<RunStore, "cancelTasks" | "pause" | "resume" | "stopping" | "reconcile"> {
  const call = (runId: string) => tellCalled(listeners, unansweredIn(tables, runId));
  return {
    cancelTasks: async (runId, options) => {
      const running = withWakes(cancelTasks(tables, runId, options));
      call(runId);
      return running;
    },
    stopping: async (runId) => {
      call(runId);
      return stopProgress(tables, runId);
    },
    pause: async (runId, { by }) => {
      const { answer, left } = pauseRun(tables, runId, by);
      call(runId);
      admit({ runIds: left.map(({ id }) => id) });
      return answer;
    },
    resume: async (runId, { by }) => withWakes(resumeRun(tables, runId, by)),
    reconcile: async (scope) => withWakes(reconcileTasks(tables, scope)),
  };
}
