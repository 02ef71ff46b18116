// Assembles the operations of people and DAGs on a run and its tasks.

import type { Admission, RunStore } from "../../contract/run/runs.js";
import { type Hearers, tellCalled } from "../node/attend.js";
import { cancelTasks } from "../run/cancel-run.js";
import { pauseRun, resumeRun } from "../run/pause-run.js";
import { stopProgress, unansweredIn } from "../run/stop-requests.js";
import type { Tables } from "../table/tables.js";
import { reconcileTasks } from "./reconcile-tasks.js";

export function taskOperations(
  tables: Tables,
  hearers: Hearers,
  ringing: <T>(answer: T) => T,
  admit: (whom: Admission) => number,
): Pick<RunStore, "cancelTasks" | "pause" | "resume" | "stopping" | "reconcile"> {
  const call = (runId: string) => tellCalled(hearers, unansweredIn(tables, runId));
  return {
    cancelTasks: async (runId, options) => {
      const running = ringing(cancelTasks(tables, runId, options));
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
    resume: async (runId, { by }) => ringing(resumeRun(tables, runId, by)),
    reconcile: async (scope) => ringing(reconcileTasks(tables, scope)),
  };
}
