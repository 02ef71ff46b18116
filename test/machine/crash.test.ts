// Timers across processes: three of them fire the timers of two machines with the same ids, and are killed while they do.
//
// HOLDFAST_INSTANCES=1000 makes a thousand instances of each machine instead of 100.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { crashMachines } from "./crash-machines.js";
import { orderMachine } from "./order-machine.js";

const INSTANCES = Number(process.env["HOLDFAST_INSTANCES"] ?? 100);
const WINDOW_MS = Math.max(3_000, INSTANCES * 8);
const { url, schema, pool } = testSchema();
const store = openPostgres(url, { schema });
const children: ChildProcess[] = [];
let started = 0;

beforeAll(async () => {
  await store.migrate();
});
afterAll(async () => {
  const living = children.filter((child) => child.exitCode === null && child.signalCode === null);
  await Promise.all(living.map((child) => [child.send("stop"), once(child, "exit")][1]));
  await store.close();
});

async function startNode(): Promise<ChildProcess> {
  const file = compiled(join(import.meta.dirname, "crash.child.ts"));
  const child = fork(file, [url, schema, `node-${started++}`], { execArgv: [] });
  children.push(child);
  await once(child, "message");
  return child;
}

const rows = async <Row>(text: string) => (await pool.query(text.replaceAll("{s}", schema))).rows as Row[];

test(
  "two machines with the same ids, three processes, kill -9: each timer fires exactly once on its own, none early, none lost",
  async () => {
    const client = createClient({ store });
    const [left, right] = crashMachines();
    const ids = Array.from({ length: INSTANCES }, (_, i) => `i-${i}`);
    const alive = await Promise.all([startNode(), startNode(), startNode()]);
    const delay = (i: number) => 1_500 + Math.floor((i * WINDOW_MS) / INSTANCES);
    await Promise.all(
      [left, right].map((one) => Promise.all(ids.map((id, i) => client.start(one, { ms: delay(i) }, { id })))),
    );
    const pending = async () => (await rows<{ n: number }>("select count(*)::int as n from {s}.timers"))[0]!.n;
    let kills = 0;
    while ((await pending()) > INSTANCES / 3) {
      await pass(700);
      // The next process is starting: at least one is alive.
      if (alive.length < 2) continue;
      alive.shift()!.kill("SIGKILL");
      kills++;
      void startNode().then((child) => alive.push(child));
    }
    await expect.poll(() => alive.length, { timeout: 30_000 }).toBe(3);
    expect(kills).toBeGreaterThan(0);
    const open = () =>
      rows<{ n: number }>("select count(*)::int as n from {s}.instances where status = 'active'").then(
        ([row]) => row!.n,
      );
    await expect.poll(open, { timeout: 60_000, interval: 250 }).toBe(0);
    // Every log: the start, the timer, the effect's answer, each once.
    const logs = await rows<{ names: string; n: number }>(
      `select names, count(*)::int as n from
         (select instance, string_agg(name, ',' order by seq) as names from {s}.instance_events group by 1) x group by 1`,
    );
    expect(logs).toEqual([{ names: "start,after wait in waits,TOLD", n: 2 * INSTANCES }]);
    expect(await pending()).toBe(0);
    const early = await rows(
      `select f.instance from {s}.instance_events f join {s}.instance_events b on b.instance = f.instance and b.seq = 1
       where f.seq = 2 and f.at < b.at + ((b.data::jsonb ->> 'ms')::float8) * interval '1 millisecond'`,
    );
    expect(early).toEqual([]);
    const machines = await rows<{ program: string; n: number }>(
      `select g.program, count(*)::int as n from {s}.instances i join {s}.claim_groups g on g.id = i.claim_group
       group by 1 order by 1`,
    );
    expect(machines).toEqual([
      { program: "left", n: INSTANCES },
      { program: "right", n: INSTANCES },
    ]);
    console.log(`${2 * INSTANCES} timers, ${kills} kills`);
  },
  120_000 + WINDOW_MS * 2,
);

describe("on PostgreSQL", () => {
  test("a node's own clock decides nothing: ten minutes ahead or behind, a timer fires when it is due", async () => {
    for (const offMs of [600_000, -600_000]) {
      const { orders } = orderMachine(`skewed${offMs < 0 ? "-back" : ""}`, 400);
      const world = systemWorld();
      let off = offMs;
      const skewed = { ...world, wallNow: () => world.wallNow() + off };
      const options = { store, programs: [orders], identity: { id: `skewed ${offMs}` } } as const;
      const node = await createNode(options, skewed);
      const order = await node.start(orders, { email: "" });
      // It jumps while the timer runs.
      off = -off;
      const before = await order.timers();
      expect(before).toHaveLength(1);
      await order.waitFor(({ value }) => value === "expired", { timeout: "20s" });
      const [start, ring] = await order.history();
      expect(ring!.at - start!.at).toBeGreaterThanOrEqual(400);
      expect(ring!.at - start!.at).toBeLessThan(5_000);
      await node.stop();
    }
  });

  test("with its old events deleted, an instance continues where it was", async () => {
    const { orders } = orderMachine("truncated");
    const client = createClient({ store });
    const order = await client.start(orders, { email: "" }, { id: "o" });
    await order.send({ type: "NOTE" });
    await pool.query(`delete from ${schema}.instance_events where instance = $1`, [order.key]);
    const fresh = createClient({ store }).instance(orders, "o");
    expect(await fresh.send({ type: "NOTE" })).toMatchObject({ outcome: "applied", seq: 3 });
    expect(await fresh.state()).toMatchObject({ context: { notes: 2 }, seq: 3 });
  });
});
