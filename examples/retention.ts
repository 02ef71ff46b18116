// Retention: what has ended is kept for a stated time. An operator can archive and delete earlier.
import { createNode, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

const hello = workflow("hello", async (_ctx, name: string) => `hello ${name}`);
const store = memoryStore({ retention: { completed: "7d", failed: false } });
await using node = await createNode({ store, programs: [hello] });

const first = await node.start(hello, "Ann", { key: "ann" });
await first.result({ timeout: "5s" });
const archived = await node.retention.archive(first.id); // out of the lists, and its key is free again
const second = await node.start(hello, "Ann", { key: "ann" });
await second.result({ timeout: "5s" });

const old = await node.retention.count({ olderThan: 0, program: "hello" });
const pruned = await node.retention.prune({ olderThan: 0, program: "hello" });
console.log(archived, old, pruned);
