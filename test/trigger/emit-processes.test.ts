// Events across processes: the same ones from five of them make each run once; a hot subject keeps its last event.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { createNode } from "../../src/node/create-node.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { event, on } from "../../src/trigger/event.js";
import { workflow } from "../../src/workflow/workflow.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { measured } from "./measured-event.js";

/** HOLDFAST_EVENTS=10000: as many. */
const EVENTS = Number(process.env["HOLDFAST_EVENTS"] ?? 1000);
const { url, schema, pool } = testSchema();
let store: PostgresStore;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterAll(() => store.close());

test(`five processes fed the same ${EVENTS} events make ${EVENTS} runs`, async () => {
  const all = workflow("all", { on: [on(measured)] }, async () => {});
  const some = workflow("some", { on: [on(measured, { where: { sensor: "s-3" } })] }, async () => {});
  const node = await createNode({ store, programs: [all, some] });
  await node.stop();
  const children = await Promise.all(
    [1, 2, 3, 4, 5].map(async (seed) => {
      const file = compiled(join(import.meta.dirname, "emit.child.ts"));
      const child = fork(file, [url, schema, String(seed), String(EVENTS)], { execArgv: [] });
      await once(child, "message");
      return child;
    }),
  );
  const answers = children.map(async (child: ChildProcess) => {
    child.send("go");
    const [{ started }] = await once(child, "message");
    await once(child, "exit");
    return started as number;
  });
  const started = (await Promise.all(answers)).reduce((sum, n) => sum + n, 0);
  const { rows } = await pool.query(
    `select g.program, count(*)::int as runs, count(distinct j.data)::int as events
     from ${schema}.runs r join ${schema}.claim_groups g on g.id = r.claim_group
     join ${schema}.journal j on j.run_id = r.id and j.seq = 1 group by 1 order by 1`,
  );
  expect(rows).toEqual([
    { program: "all", runs: EVENTS, events: EVENTS },
    { program: "some", runs: EVENTS / 10, events: EVENTS / 10 },
  ]);
  expect(started).toBe(EVENTS + EVENTS / 10);
}, 90_000);

test("a hot subject: thousands of events, one run for each quiet window, each with the last of them", async () => {
  const ticked = event<{ sensor: string; n: number }>()("ticked");
  const got: number[] = [];
  const trigger = on(ticked, { subject: "sensor", debounce: "1500ms" });
  const calm = workflow("calm", { on: [trigger] }, async (_ctx, { n }) => void got.push(n));
  const nodes = await Promise.all(
    [1, 2].map(() => createNode({ store, programs: [calm], timing: { housekeeping: "100ms" } })),
  );
  const clients = [createClient({ store }), createClient({ store: nodeStore() })];
  for (let window = 1; window <= 2; window++) {
    // Bursts of 200 from two processes' worth of connections, one after the other: no event comes 1.5 s after another.
    const runs = new Set<string | null>();
    for (let burst = 0; burst < 10; burst++) {
      const emits = Array.from({ length: 200 }, (_, i) => {
        const n = window * 10_000 + burst * 200 + i;
        return clients[burst % 2]!.emit(ticked, { sensor: "hot", n });
      });
      for (const { runs: found } of await Promise.all(emits)) runs.add(found[0]!.runId);
    }
    expect(runs.size).toBe(1);
    await nodes[0]!.run([...runs][0]!).result({ timeout: "20s" });
    expect(got).toEqual(Array.from({ length: window }, (_, w) => (w + 1) * 10_000 + 1999));
  }
  const left = await pool.query(`select from ${schema}.debounces`);
  expect(left.rows).toHaveLength(0);
  await Promise.all(nodes.map((node) => node.stop()));
  await Promise.all(others.map((other) => other.close()));
}, 60_000);

test("a subject that is never quiet for long, on two nodes: no event is lost, and each run has the last before it", async () => {
  const moved = event<{ id: string; n: number }>()("moved");
  const got: number[] = [];
  const trigger = on(moved, { subject: "id", debounce: 20 });
  const follow = workflow("follow", { on: [trigger] }, async (_ctx, { n }) => void got.push(n));
  const quick = { timing: { pollInterval: 20, pollMax: 50, housekeeping: 20 } } as const;
  const nodes = await Promise.all([1, 2].map(() => createNode({ store, programs: [follow], ...quick })));
  const runs = new Set<string | null>();
  let n = 0;
  for (let i = 0; i < 60; i++) {
    // Pauses around the window's length: events meet the claim of the run before them.
    for (let burst = 0; burst < 1 + (i % 3); burst++)
      runs.add((await nodes[i % 2]!.emit(moved, { id: "x", n: ++n })).runs[0]!.runId);
    await new Promise((resolve) => setTimeout(resolve, (i * 7) % 40));
  }
  await Promise.all([...runs].map((id) => nodes[0]!.run(id!).result({ timeout: "20s" })));
  expect(got).toHaveLength(runs.size);
  expect(Math.max(...got)).toBe(n);
  expect(new Set(got).size).toBe(got.length);
  expect(runs.size).toBeGreaterThan(3);
  await Promise.all(nodes.map((node) => node.stop()));
}, 60_000);

const others: PostgresStore[] = [];
function nodeStore(): PostgresStore {
  const other = openPostgres(url, { schema });
  others.push(other);
  return other;
}
