// The DAGs that are measured: five diamonds in a row, and two tasks one after the other on different nodes.

import { type AnyTask, dag, task } from "../src/dag/index.js";

function diamonds(): Record<string, AnyTask> {
  const tasks: Record<string, AnyTask> = {};
  let last: AnyTask | null = null;
  for (let i = 1; i <= 5; i++) {
    const a: AnyTask = last ? task({ needs: { [`e${i - 1}`]: last } }, async () => i) : task(async () => i);
    const b = task({ needs: { [`a${i}`]: a } }, async () => "twenty bytes of it");
    const c = task({ needs: { [`a${i}`]: a } }, async () => "twenty bytes of it");
    const e = task({ needs: { [`b${i}`]: b, [`c${i}`]: c } }, async () => i);
    Object.assign(tasks, { [`a${i}`]: a, [`b${i}`]: b, [`c${i}`]: c, [`e${i}`]: e });
    last = e;
  }
  return tasks;
}

export const TASKS = 20;
export const row = dag("diamonds", { result: ["e5"] }, diamonds() as never) as unknown as ReturnType<typeof dag>;

/** The monotonic clock of the machine: the same one in every process. */
const now = () => String(process.hrtime.bigint());
const first = task(async (ctx) => {
  process.send!({ first: ctx.dagRunId, at: now() });
});
const second = task({ needs: { first } }, async (ctx) => {
  process.send!({ second: ctx.dagRunId, at: now() });
});
export const handover = dag("handover", { first, second });
