// An event starts every program that has a trigger for it, once. A debounced trigger waits until its subject is quiet.
import { createNode, event, on, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

const updated = event<{ kind: "disk" | "cpu"; resource: string; used: number }>()("resource.updated");

const alarm = workflow(
  "alarm",
  { on: [on(updated, { where: { kind: { in: ["disk"] } } })], circuitBreaker: { threshold: 5, halfOpenAfter: "1m" } },
  async (ctx, input) => ctx.step("page", () => `${input.type}: ${input.resource} at ${input.used} %`),
);
const index = workflow(
  "index",
  { on: [on(updated, { subject: "resource", debounce: "1s" })] },
  async (_ctx, input) => `indexed at ${input.used} %`,
);

await using node = await createNode({ store: memoryStore(), programs: [alarm, index] });

const first = await node.emit(updated, { kind: "disk", resource: "r-7", used: 91 });
const again = await node.emit(updated, { kind: "disk", resource: "r-7", used: 91 });
const other = await node.emit(updated, { kind: "cpu", resource: "r-7", used: 12 });
for (const { runs } of [first, again, other])
  console.log(runs.map((run) => `${run.program} ${run.outcome}`).join(", "));

for (const run of first.runs) if (run.runId) console.log(await node.run(run.runId).result());
