// Three processes share one database, and each takes what it is made for: a GPU box, a CPU farm, and one for the rest.

import { fork } from "node:child_process";
import { once } from "node:events";
import { createNode, type NodeOptions, workflow } from "holdfast";
import { dag, task } from "holdfast/dag";
import { startEmbedded } from "holdfast/embedded";
import { postgres } from "holdfast/postgres";

const prepare = task(async (_ctx, _day: string) => 3);
const train = task({ needs: { prepare } }, async (_ctx, { prepare: rows }) => `a model of ${rows} rows`);
const ml = dag("ml", { prepare, train }); // its tasks wait in the queues ml::prepare and ml::train
const load = workflow("etl::load", async () => "loaded");
const sort = workflow("heavy_sort", async () => "sorted");
const mail = workflow("mail", async () => "sent");
const programs = [ml, load, sort, mail];

const deployment = {
  "gpu-box": (node: NodeOptions) =>
    createNode({
      ...node,
      flow: {
        executors: { gpu: 1, default: 2 },
        serve: [
          ["ml::train", "gpu"],
          ["ml::*", "default"],
        ],
      },
    }),
  "cpu-farm": (node: NodeOptions) =>
    createNode({ ...node, flow: { executors: { default: 8, big: 2 }, serve: [["heavy_*", "big"], "etl::*"] } }),
  general: (node: NodeOptions) => createNode({ ...node, concurrency: 4, flow: { serve: ["ml", "mail"] } }),
};

async function work(name: keyof typeof deployment, url: string): Promise<void> {
  const node = await deployment[name]({ store: postgres(url), programs, identity: { name } });
  node.on("run.claimed", ({ program, executor }) => process.send?.(`${program} on ${name}, ${executor}`));
  process.send?.("ready");
}

async function start(): Promise<void> {
  await using server = await startEmbedded();
  const store = postgres(server.url);
  await store.migrate();
  const nodes = Object.keys(deployment).map((name) => fork(process.argv[1]!, [name, server.url]));
  const told = new Set<string>();
  for (const node of nodes) node.on("message", (line: string) => told.add(line));
  await Promise.all(nodes.map((node) => once(node, "message")));

  // This process starts runs and works on none.
  const client = await createNode({ store, programs: [] });
  const runs = [
    await client.start(ml, "monday"),
    ...(await Promise.all([load, sort, mail].map((one) => client.start(one)))),
  ];
  for (const run of runs) await run.result({ timeout: "30s" });
  told.delete("ready");
  console.log([...told].sort().join("\n"));
  for (const node of nodes) node.kill();
  await client.stop();
  await store.close();
}

const [name, url] = process.argv.slice(2);
await (url ? work(name as keyof typeof deployment, url) : start());
