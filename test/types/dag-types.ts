// What must compile, and what must not: results flow from task to task, wrong wiring is an error where it is written.

import { dag } from "../../src/dag/dag.js";
import type { Outcome } from "../../src/dag/outcome.js";
import { each, task } from "../../src/dag/task.js";
import type { TaskContext } from "../../src/dag/task-context.js";
import { allSucceeded, always, and, anySucceeded, noneFailed, not } from "../../src/dag/when.js";
import { createNode } from "../../src/node/create-node.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { workflow } from "../../src/workflow/workflow.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_yes: Same<A, B>) => {};

interface Day {
  day: string;
}

const extract = task(async (_ctx, input: Day) => [{ row: input.day }]);
const clean = task({ needs: { extract }, queue: "ml::train", timeout: "2h", retry: 3 }, async (_ctx, { extract }) => {
  same<typeof extract, { row: string }[]>(true);
  return extract.map(({ row }) => row.length);
});
const train = task({ needs: { clean } }, async (ctx: TaskContext<{ rate: number }>, { clean }) => {
  same<typeof ctx.input, { rate: number }>(true);
  return { loss: clean.length * ctx.input.rate };
});
const report = task({ needs: { clean, train }, when: (o) => o.train.state !== "failed" }, async (_ctx, { train }) => {
  same<typeof train, Outcome<{ loss: number }>>(true);
  return train.state === "succeeded" ? train.value.loss : 0;
});
const parts = each({ needs: { clean }, over: ({ clean }) => clean, parallel: 2 }, async (_ctx, item, index) => {
  same<typeof item, number>(true);
  return `${item + index}`;
});
const last = task({ needs: { report, parts } }, async (_ctx, { parts }) => {
  same<typeof parts, string[]>(true);
  return true;
});

export const etl = dag("etl", { extract, clean, train, report, parts, last });
export const small = dag("small", { result: ["clean"], concurrency: { key: "day", limit: 2 } }, { extract, clean });
export const alone = dag("alone", { only: task(async () => 1) });
const node = await createNode({ store: memoryStore(), programs: [etl, small, alone] });

// The input is what all tasks take together; the result has each by name, undefined where it may have been skipped.
const run = await node.start(etl, { day: "2026-01-01", rate: 2 });
const result = await run.result();
same<typeof result.clean, number[]>(true);
same<typeof result.report, number | undefined>(true);
same<typeof result.last, boolean | undefined>(true);
same<Awaited<ReturnType<Awaited<ReturnType<typeof startSmall>>["result"]>>, { readonly clean: number[] }>(true);
async function startSmall() {
  return node.start(small, { day: "x" });
}
await node.start(alone);
export const parent = workflow("parent", async (ctx) => (await ctx.child(small, { day: "x" })).clean);

// @ts-expect-error the input of one of the tasks is missing
await node.start(etl, { day: "2026-01-01" });
// @ts-expect-error a wrong input
await node.start(small, { day: 1 });
// @ts-expect-error it takes none
await node.start(alone, 1);
// @ts-expect-error not among the tasks of the result
(await (await node.start(small, { day: "x" })).result()).extract;
// @ts-expect-error a need outside of the DAG
dag("missing", { clean });
// @ts-expect-error no such task
task({ needs: { extrct } }, async () => 1);
// A cycle cannot be written: whichever comes first needs what is not there yet.
const later: { readonly task?: typeof extract } = {};
// @ts-expect-error it may be missing
task({ needs: { later: later.task } }, async () => 1);
// @ts-expect-error no duration
task({ needs: { extract }, timeout: "2 hours" }, async () => 1);
// @ts-expect-error no such result
task({ needs: { train } }, async (_ctx, { train }) => train.los);
// @ts-expect-error with a rule a value may be missing: look at the state first
task({ needs: { train }, when: always }, async (_ctx, { train }) => train.loss);
// @ts-expect-error a limit's key is a path into the input
dag("wrong-path", { concurrency: { key: "month", limit: 1 } }, { extract, clean });
// @ts-expect-error the result is made of tasks
dag("wrong-result", { result: ["nobody"] }, { extract, clean });

task({ needs: { clean, train }, when: and(allSucceeded(["clean"]), not(noneFailed())) }, async () => 1);
task({ needs: { clean, train }, when: anySucceeded(["clean", "train"]) }, async () => 1);
// @ts-expect-error the rule is over a task that is not a need
task({ needs: { clean }, when: allSucceeded(["train"]) }, async () => 1);
task({ finishOnAbort: true }, async () => 1);
// @ts-expect-error yes or no
task({ finishOnAbort: 1 }, async () => 1);
