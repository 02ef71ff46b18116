// An ETL DAG over a range of days: a plan, a backfill with bounded concurrency, a day that fails, and the retry of one task.
import { createNode } from "holdfast";
import { dag, noneFailed, type TaskContext, task } from "holdfast/dag";
import { memoryStore } from "holdfast/memory";

interface Day {
  day: string;
}

let repaired = false;
const extract = task({ retry: 1, concurrency: 2 }, async (_ctx, { day }: Day) => {
  if (day === "2026-01-02" && !repaired) throw new Error("no file yet");
  return [`${day} one`, `${day} two`];
});
const weekly = task(
  { needs: { extract }, when: (_outcomes, { day }: Day) => day.endsWith("03") },
  async () => "weekly",
);
const report = task({ needs: { extract, weekly }, when: noneFailed() }, async (ctx: TaskContext<Day>, { extract }) => {
  return `${ctx.input.day}: ${extract.state === "succeeded" ? extract.value.length : 0} rows`;
});
const etl = dag("etl", { extract, weekly, report });

for (const { task, level, queue, runs } of etl.plan({ day: "2026-01-01" })) console.log(level, task, queue, runs);

await using node = await createNode({ store: memoryStore(), programs: [etl] });
const fill = await node.backfill(etl, {
  name: "first week",
  from: "2026-01-01",
  to: "2026-01-05",
  every: "1d",
  input: (from) => ({ day: from.toISOString().slice(0, 10) }),
  concurrency: 2,
});
const { total, states, troubled } = await fill.finished();
console.log(`${states.completed} of ${total} completed`);

for (const { from, runId } of troubled) {
  const run = node.run<{ report: string }>(runId);
  for (const { name, state, causes } of await run.tasks()) console.log([name, state, ...causes].join(" "));
  repaired = true;
  await run.retry({ task: "extract", after: true, by: "ann" });
  console.log(from.toISOString().slice(0, 10), (await run.result()).report);
}
