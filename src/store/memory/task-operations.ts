// What people and DAGs do to a run and its tasks, joined to a part of the store.

import type { Admission, RunStore } from "../contract/runs.js";
import { cancelTasks } from "./cancel-run.js";
import { pauseRun, resumeRun } from "./pause-run.js";
import { reconcileTasks } from "./reconcile-tasks.js";
import type { Tables } from "./tables.js";

export function taskOperations(
  tables: Tables,
  ringing: <T>(answer: T) => T,
  admit: (whom: Admission) => number,
): Pick<RunStore, "cancelTasks" | "pause" | "resume" | "reconcile"> {
  return {
    cancelTasks: async (runId, options) => ringing(cancelTasks(tables, runId, options)),
    pause: async (runId, { by }) => {
      const { answer, left } = pauseRun(tables, runId, by);
      admit({ runIds: left.map(({ id }) => id) });
      return answer;
    },
    resume: async (runId, { by }) => ringing(resumeRun(tables, runId, by)),
    reconcile: async (scope) => ringing(reconcileTasks(tables, scope)),
  };
}
