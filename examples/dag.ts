// Tasks that need each other's results, each a run of its own on any node: a fan-out, a parallel branch, a rule where they join.
import { createNode } from "holdfast";
import { dag, each, noneFailed, type TaskContext, task } from "holdfast/dag";
import { memoryStore } from "holdfast/memory";

interface Day {
  day: string;
}

const extract = task(async (_ctx, { day }: Day) => [`${day} one`, `${day} two`, `${day} three`]);

const lengths = each(
  { needs: { extract }, over: ({ extract }) => extract, parallel: 2, retry: 5 },
  async (_ctx, row: string) => row.length,
);

const audit = task({ needs: { extract }, timeout: "1m" }, async (ctx, { extract }) =>
  ctx.step("count", () => extract.length),
);

const report = task(
  { needs: { lengths, audit }, when: noneFailed() },
  async (ctx: TaskContext<Day>, { lengths, audit }) => {
    const sum = lengths.state === "succeeded" ? lengths.value.reduce((a, b) => a + b, 0) : 0;
    const rows = audit.state === "succeeded" ? audit.value : 0;
    return `${ctx.input.day}: ${rows} rows, ${sum} characters`;
  },
);

const etl = dag("etl", { extract, lengths, audit, report });

await using node = await createNode({ store: memoryStore(), programs: [etl] });
const run = await node.start(etl, { day: "2026-01-01" });
const result = await run.result();
console.log(result.report);
console.log(result.lengths.join(" "));
console.log(etl.levels.map((level) => level.join(", ")).join(" → "));
