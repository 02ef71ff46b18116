// A run with tasks: the setup of the cases about tasks.

import type { Effect } from "../../../kernel/run/effect.js";
import type { NewRun } from "../../../kernel/run/new-run.js";
import type { RunState } from "../../../kernel/run/run-state.js";
import type { ClaimedRun } from "../../../store/contract/run/runs.js";
import { some } from "../expect.js";
import { LONG_MS, park, type Scene } from "../scene.js";

export const TASKS = { queue: "tasks", program: "task" };
export const ME = { by: "me" };

export const enqueue = (run: NewRun, needs: readonly string[] = []): Effect => ({
  kind: "enqueue",
  name: "task",
  run,
  task: { needs },
});

/** A parent that waits for tasks with these needs, given by their places. */
export async function family(s: Scene, needs: readonly (readonly number[])[], options: Partial<NewRun> = {}) {
  const parent = await s.start();
  const runs = needs.map(() => s.newRun({ ...options, group: TASKS }));
  const ids = runs.map(({ id }) => id);
  const effects = runs.map((run, i) =>
    enqueue(
      run,
      needs[i]!.map((need) => ids[need]!),
    ),
  );
  await s.accept(parent, [...effects, park({ wakeAfter: 1000, forTasks: true })]);
  return { parent, ids };
}

export async function claimTasks(s: Scene, leaseMs = LONG_MS): Promise<readonly ClaimedRun[]> {
  await s.advance(1);
  return s.claim({ groupIds: await s.store.runs.groupIds([s.group(TASKS)]), leaseMs });
}

export const one = async (s: Scene, leaseMs = LONG_MS) => some((await claimTasks(s, leaseMs))[0], "a claimable task");
/** The first of them, and no other. */
export const next = async (s: Scene, leaseMs: number) => {
  await s.advance(1);
  return s.claimOne({ groupIds: await s.store.runs.groupIds([s.group(TASKS)]), leaseMs, limit: 1 });
};
export const states = async (s: Scene, ids: readonly string[]): Promise<readonly RunState[]> =>
  Promise.all(ids.map(async (id) => (await s.run(id)).state));
