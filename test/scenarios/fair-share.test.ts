// Many runs that become claimable at once, new or reclaimed, are spread over idle nodes.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { createNode, type Node } from "../../src/node/create-node.js";
import { postgres } from "../../src/store/postgres/index.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { innocent } from "./poison.js";

const { url, schema } = testSchema();
const QUICK = { timing: { housekeeping: 100, presenceGrace: 300 } };
/** Longer than a test: no node gets a second run because its first has ended. */
const WORK_MS = 60_000;
let store: PostgresStore;
const nodes: Node[] = [];

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterEach(() => Promise.all(nodes.splice(0).map((node) => node.stop({ grace: 0 }))));
afterAll(() => store.close());

/** Idle nodes with a store each, and how many runs each has been granted. */
async function idleNodes(env: string, count: number, concurrency: number): Promise<number[]> {
  const shares = Array.from({ length: count }, () => 0);
  const programs = [innocent((ms) => pass(ms, null, { ref: false }))];
  for (let i = 0; i < count; i++) {
    const options = { ...QUICK, env, identity: { id: `idle-${i}` }, concurrency };
    const node = await createNode({ store: postgres(url, { schema }), programs, ...options });
    node.on("run.claimed", () => shares[i]!++);
    nodes.push(node);
  }
  // Each knows of the others, and has polled for work in vain.
  await pass(1_000);
  return shares;
}

const sum = (shares: readonly number[]) => shares.reduce((a, b) => a + b, 0);

test.for([
  { count: 4, concurrency: 40, runs: 30 },
  { count: 3, concurrency: 40, runs: 30 },
  { count: 4, concurrency: 10, runs: 10 },
])(
  "$runs new runs, $count idle nodes with $concurrency slots: none takes more than twice the mean",
  {
    timeout: 60_000,
  },
  async ({ count, concurrency, runs }) => {
    const env = `burst-${count}-${concurrency}`;
    const shares = await idleNodes(env, count, concurrency);
    const client = createClient({ store, env });
    const work = innocent(async () => {});
    await Promise.all(Array.from({ length: runs }, () => client.start(work, WORK_MS)));
    await expect.poll(() => sum(shares), { timeout: 20_000 }).toBe(runs);
    expect(Math.max(...shares), `${shares}`).toBeLessThanOrEqual((2 * runs) / count);
  },
);

test("30 runs of a killed process, 4 idle nodes: none takes more than twice the mean", {
  timeout: 60_000,
}, async () => {
  const env = "reclaimed";
  const wish = JSON.stringify({
    url,
    schema,
    env,
    identity: { id: "victim" },
    concurrency: 40,
    timing: { ...QUICK.timing, lease: "10m" },
  });
  const victim = fork(compiled(join(import.meta.dirname, "poison.child.ts")), [wish], { execArgv: [] });
  await once(victim, "message");
  const client = createClient({ store, env });
  const work = innocent(async () => {});
  const runs = await Promise.all(Array.from({ length: 30 }, () => client.start(work, WORK_MS)));
  const states = () => Promise.all(runs.map(async ({ id }) => (await store.runs.get(id))!.state));
  await expect.poll(states, { timeout: 20_000 }).toSatisfy((all: string[]) => all.every((one) => one === "running"));
  const shares = await idleNodes(env, 4, 40);
  victim.kill("SIGKILL");
  await expect.poll(() => sum(shares), { timeout: 20_000 }).toBe(30);
  expect(Math.max(...shares), `${shares}`).toBeLessThanOrEqual(15);
});
