// The tasks of a run, in the order in which it started them.

import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";

export interface RunTask {
  /** Of the entry that started it: the `after` of a further page. */
  readonly seq: number;
  /** Its name in the DAG. */
  readonly name: string;
  readonly runId: string;
  /** Null: it was pruned. */
  readonly run: RunRecord | null;
}

export interface TaskPage {
  readonly tasks: readonly RunTask[];
  readonly next: number | null;
}

const OUTLINE_PAGE = 500;

/** Of the current generation. */
export async function tasksOf(
  store: Store,
  runId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<TaskPage> {
  const started: Omit<RunTask, "run">[] = [];
  let [place, end] = [after, false];
  while (started.length <= limit && !end) {
    const asked = { runId, limit: OUTLINE_PAGE, ...(place > 0 && { after: place }) };
    const [outline] = await store.views.outline([asked]);
    const entries = outline?.entries ?? [];
    for (const { seq, name, key, kind } of entries) if (kind === "task" && key) started.push({ seq, name, runId: key });
    end = entries.length === 0;
    place = entries.at(-1)?.seq ?? place;
  }
  const shown = started.slice(0, limit);
  const { runs } = await store.views.runs(shown.map((task) => task.runId));
  const tasks = shown.map((task, i) => ({ ...task, run: runs[i] ?? null }));
  return { tasks, next: started.length > limit ? shown.at(-1)!.seq : null };
}
