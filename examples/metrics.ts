// Metrics: what a node counts, in the text format of Prometheus.
import { createNode, workflow } from "holdfast";
import { dashboard } from "holdfast/admin";
import { memoryStore } from "holdfast/memory";

const store = memoryStore();
const hello = workflow("hello", async () => "hello");
const node = await createNode({ store, programs: [hello], signals: false });
const auth = () => ({ id: "scraper", may: ["see" as const] });
const site = dashboard({ store, auth, nodes: [node] });

await (await node.start(hello)).result();
const answer = await site.fetch(new Request("http://localhost/metrics"));
console.log((await answer.text()).includes('holdfast_runs_claimed_total{env="default"'));
await site.close();
await node.stop();
