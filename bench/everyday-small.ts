// Small figures of everyday use: what a race costs next to a plain wait, and how soon a missing database is reported.

import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { createNode, signal, workflow } from "../src/index.js";
import { memoryStore } from "../src/store/memory/index.js";
import { openPostgres } from "../src/store/postgres/open.js";
import type { PartOptions } from "./parts.js";

const REPORT_MS = 1_000;
const paid = signal<number>("paid");
const plain = workflow("plain", async (ctx) => ctx.waitFor(paid));
const raced = workflow("raced", async (ctx) => (await ctx.race({ paid: ctx.waitFor(paid) })).value);

export async function benchSmall({ say }: PartOptions) {
  const [wait, race] = [await commitsOf(plain), await commitsOf(raced)];
  const [refusedMs, silentMs] = [await reportedAfter(false), await reportedAfter(true)];
  const figures = [
    { name: "commits of a race, over those of a plain wait", value: race - wait, needs: 0 },
    { name: "a database that refuses is reported after, ms", value: refusedMs, needs: REPORT_MS },
    { name: "a database that does not answer is reported after, ms", value: silentMs, needs: REPORT_MS },
  ];
  for (const { name, value, needs } of figures)
    say(`${value <= needs ? "ok  " : "FAIL"} ${name}: ${value} (needs ${needs})`);
  return { ok: figures.every(({ value, needs }) => value <= needs), figures };
}

/** Writes of a run that parks, takes a message and ends. */
async function commitsOf(program: typeof plain | typeof raced): Promise<number> {
  await using node = await createNode({ store: memoryStore(), programs: [program], signals: false });
  let commits = 0;
  node.on("store.called", ({ operation }) => {
    if (operation === "runs.commit") commits++;
  });
  const run = await node.start(program);
  while ((await run.status()).state !== "parked") await new Promise((resolve) => setTimeout(resolve, 5));
  await run.signal(paid, 1);
  await run.result();
  return commits;
}

/** `accepts`: the server takes connections and says nothing. */
async function reportedAfter(accepts: boolean): Promise<number> {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  if (!accepts) await new Promise((resolve) => server.close(resolve));
  const startedAt = performance.now();
  const reported = new Promise<number>((resolve) => {
    const warn = () => resolve(Math.round(performance.now() - startedAt));
    const logger = { debug() {}, info() {}, error() {}, warn };
    const store = openPostgres(`postgres://u@127.0.0.1:${port}/x`, { logger });
    store.checkSchema().catch(() => store.close());
  });
  const ms = await reported;
  server.close();
  return ms;
}
