// A node process with thousands of sleeping runs; reports what they cost it. Run with --expose-gc.

import { setTimeout as pass } from "node:timers/promises";
import pg from "pg";
import { createNode, type Node, workflow } from "../../src/index.js";
import { postgres } from "../../src/store/postgres/index.js";

const [url, schema, warmUp, count, watchMs] = process.argv.slice(2) as [string, string, string, string, string];
const nap = workflow("nap", async (ctx, n: number) => {
  await ctx.step("before", () => n);
  await ctx.sleep("nap", "1h");
});

/** Every statement this process sends, by its name. */
const sent: string[] = [];
const query = pg.Client.prototype.query as (this: pg.Client, ...args: unknown[]) => unknown;
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const [first] = args as [string | { name?: string; text?: string }];
  sent.push(typeof first === "string" ? first : (first.name ?? first.text ?? ""));
  return query.apply(this, args);
} as never;

async function putToSleep(node: Node, runs: number): Promise<void> {
  let settled = 0;
  const all = new Promise<void>((resolve) => {
    const off = node.on("run.settled", () => {
      if (++settled === runs) {
        off();
        resolve();
      }
    });
  });
  await Promise.all(Array.from({ length: runs }, (_, i) => node.start(nap, i)));
  await all;
}

async function heapAfterGc(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    await pass(50);
    (globalThis as unknown as { gc(): void }).gc();
  }
  return process.memoryUsage().heapUsed;
}

const store = postgres(url, { schema });
const node = await createNode({ store, programs: [nap], concurrency: 50 });
await putToSleep(node, Number(warmUp));
const before = await heapAfterGc();
await putToSleep(node, Number(count));
// The claims that the last of them triggered have ended by then.
await pass(2_000);
sent.length = 0;
await pass(Number(watchMs));
const statements = [...sent];
process.send!({ grownBytes: (await heapAfterGc()) - before, active: node.active, statements });
await node.stop();
await store.close();
process.disconnect();
