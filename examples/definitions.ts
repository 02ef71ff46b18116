// Programs as data: an actor and a DAG of its episodes, saved while the node runs, from names that its code knows.
import { createNode, event } from "holdfast";
import type { Strategies } from "holdfast/actor";
import type { Tasks } from "holdfast/dag";
import { memoryStore } from "holdfast/memory";

const strategies: Strategies = {
  measure: async (ctx, input: { host: string }, config: { unit: string }) =>
    ctx.step("measure", () => `${input.host}: 42 ${config.unit}`),
};
const tasks: Tasks = {
  hosts: (_ctx, input: { site: string }, config: { count: number }) =>
    Array.from({ length: config.count }, (_, i) => `${input.site}-${i + 1}`),
  report: (_ctx, needs: { first: string; hosts: string[] }) => `${needs.first} (1 of ${needs.hosts.length})`,
};

await using node = await createNode({ store: memoryStore(), programs: [], definitions: { strategies, tasks } });

const loaded = (name: string) =>
  new Promise<void>((resolve) => node.on("definition.loaded", (one) => one.name === name && resolve()));
const there = [loaded("probe"), loaded("survey")];
await node.definitions.save("probe", {
  concurrency: 2,
  expectations: { temperature: { strategy: "measure", config: { unit: "degrees" }, budget: { timeout: "10s" } } },
});
await node.definitions.save("survey", {
  on: [{ event: "site.opened" }],
  result: ["report"],
  tasks: {
    hosts: { task: "hosts", config: { count: 3 } },
    first: { episode: "probe::temperature", needs: ["hosts"], input: { host: { $: "needs.hosts.0" } } },
    report: { task: "report", needs: ["first", "hosts"] },
  },
});
await Promise.all(there);

const opened = event<{ site: string }>()("site.opened");
const { runs } = await node.emit(opened, { site: "north" });
console.log(await node.run(runs[0]!.runId!).result());

const survey = await node.definitions.program("survey");
console.log(await (await node.start(survey, { site: "south" })).result());

await node.definitions.disable("survey");
for (const { kind, name, version, enabled } of await node.definitions.list()) console.log(kind, name, version, enabled);
