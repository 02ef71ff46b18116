// The server refuses the nodes for a while: a rotated password, revoked rights, a connection limit, a missing schema. Nothing fails.

import { randomBytes } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { actor } from "../../src/actor/actor.js";
import { expectation } from "../../src/actor/expectation.js";
import { createClient } from "../../src/client/create-client.js";
import { dag } from "../../src/dag/dag.js";
import { task } from "../../src/dag/task.js";
import { graph, state } from "../../src/graph/index.js";
import { createNode, type Node } from "../../src/node/create-node.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { every } from "../../src/trigger/schedule.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";
import { orderMachine } from "../machine/order-machine.js";
import { QUICK } from "../workflow/node-suite.js";

const { url, schema, pool } = testSchema();
const role = `${schema}_role`;
const booked = `${schema}_booked`;
const PASSWORD = "first";

beforeAll(async () => {
  const store = openPostgres(url, { schema });
  await store.migrate();
  await store.close();
  await pool.query(`create role ${role} login password '${PASSWORD}'`);
  await pool.query(`create table ${booked} (run text)`);
  await grant();
});
afterAll(async () => {
  await pool.query(`drop table ${booked}`);
  await pool.query(`drop owned by ${role}`);
  await pool.query(`drop role ${role}`);
});

async function grant(): Promise<void> {
  await pool.query(`grant all on table ${booked} to ${role}`);
  await pool.query(`grant usage on schema ${schema} to ${role}`);
  for (const all of ["tables", "sequences", "functions"])
    await pool.query(`grant all on all ${all} in schema ${schema} to ${role}`);
}

/** Open connections survive most refusals: here they are ended, as by a restart or a network fault. */
const cut = () =>
  pool.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and pid <> pg_backend_pid()", [
    role,
  ]);

interface Refusal {
  readonly refuse: () => Promise<unknown>;
  readonly accept: () => Promise<unknown>;
  readonly fromTheStart?: boolean;
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  "a rotated password (28P01)": {
    refuse: () => pool.query(`alter role ${role} password 'second'`).then(cut),
    accept: () => pool.query(`alter role ${role} password '${PASSWORD}'`),
  },
  // Transaction steps have no connection yet; all open connections of the nodes keep working.
  "a rotated password with open connections (28P01)": {
    refuse: () => pool.query(`alter role ${role} password 'second'`),
    accept: () => pool.query(`alter role ${role} password '${PASSWORD}'`),
    fromTheStart: true,
  },
  "a role that may not log in (28000)": {
    refuse: () => pool.query(`alter role ${role} nologin`).then(cut),
    accept: () => pool.query(`alter role ${role} login`),
  },
  "revoked rights (42501)": {
    refuse: () => pool.query(`revoke all on all tables in schema ${schema} from ${role}`),
    accept: grant,
  },
  "a journal that may not be read (42501)": {
    refuse: () => pool.query(`revoke all on table ${schema}.journal, ${schema}.inbox from ${role}`),
    accept: grant,
  },
  "a connection limit (53300)": {
    refuse: () => pool.query(`alter role ${role} connection limit 0`).then(cut),
    accept: () => pool.query(`alter role ${role} connection limit -1`),
  },
  "sessions that are read-only (25006)": {
    refuse: () => pool.query(`alter role ${role} set default_transaction_read_only = on`).then(cut),
    accept: () => pool.query(`alter role ${role} reset default_transaction_read_only`),
  },
  "a missing schema (3F000)": {
    refuse: () => pool.query(`alter schema ${schema} rename to ${schema}_away`),
    accept: () => pool.query(`alter schema ${schema}_away rename to ${schema}`),
  },
};

interface Programs {
  readonly orders: ReturnType<typeof orderMachine>["orders"];
  readonly all: Parameters<typeof createNode>[0]["programs"];
  readonly startOne: (client: ReturnType<typeof createClient>, n: number) => Promise<unknown>;
}

function programs(env: string, node: () => Node): Programs {
  const paid = workflow("paid", async (ctx, n: number) => {
    await ctx.step("before", { retry: 1 }, () => pass(20));
    await ctx.transaction("book", { retry: 1 }, async (tx) => {
      await tx.query(`insert into ${booked} values ($1)`, [ctx.runId]);
    });
    // A step that calls the store meets the same refusal.
    const child = await ctx.step("starts", { retry: 1 }, async ({ idempotencyKey }) => {
      return (await node().start(inner, n, { key: idempotencyKey })).id;
    });
    await ctx.sleep("nap", 30);
    return child;
  });
  const inner = workflow("inner", async (ctx, n: number) => ctx.step("one", { retry: 1 }, () => n));
  const first = task({ retry: 1 }, async (ctx, n: number) => ctx.step("in", { retry: 1 }, () => pass(10, n)));
  const second = task({ needs: { first }, retry: 1 }, async (_ctx, needs) => needs.first + 1);
  const two = dag("two", { first, second });
  const walk = graph("walk", {
    state: state<{ n: number }>({}),
    start: "a",
    nodes: { a: async () => pass(10, { n: 1 }), b: (_ctx, { n }) => ({ n: n + 1 }) },
    edges: { a: "b", b: "end" },
  });
  const worker = actor("worker", {
    expectations: {
      turn: expectation({ retry: 1 }, async (ctx, n: number) => ctx.step("turn", () => pass(10, n))),
      ticks: expectation({ on: [every("1s")], retry: 1 }, async (ctx) => ctx.step("tick", () => 1)),
    },
  });
  const { orders } = orderMachine("order", 300);
  const all = [paid, inner, two, walk, worker, orders] as const;
  const startOne = async (client: ReturnType<typeof createClient>, n: number) => {
    await client.start(paid, n);
    await client.start(two, n as never);
    await client.start(walk, { n });
    await client.start(worker.expectations.turn, n);
    const order = await client.start(orders, { email: "a@b" }, { id: `${env}-${n}` });
    if (n % 2 === 0) await order.send({ type: "PAY", cents: 5 });
  };
  return { all, orders, startOne };
}

const NOT_DONE = [
  "blocked",
  "held",
  "waiting",
  "running",
  "parked",
  "failed",
  "cancelled",
  "skipped",
  "dead",
  "quarantined",
] as const;

test.for(Object.keys(REFUSALS))(
  "%s ends nothing: all work is kept, reported and done later",
  { timeout: 90_000 },
  async (name) => {
    const { refuse, accept, fromTheStart = false } = REFUSALS[name]!;
    const env = `e${randomBytes(3).toString("hex")}`;
    const address = new URL(url);
    address.username = role;
    address.password = PASSWORD;
    const stores: PostgresStore[] = [];
    const open = (at: string) => {
      const store = openPostgres(at, { schema, queryTimeout: "2s", retryFor: "1s" });
      stores.push(store);
      return store;
    };
    const nodes: Node[] = [];
    const { all, orders, startOne } = programs(env, () => nodes[0]!);
    const troubles = new Set<string>();
    for (const identity of ["a", "b"]) {
      const options = {
        timing: { ...QUICK.timing, housekeeping: 200, lease: "10s" },
        identity: { id: identity },
        env,
        programs: all,
      } as const;
      const node = await createNode({ ...options, store: open(address.href) });
      for (const event of ["store.trouble", "claim.failed", "housekeeping.failed", "lease.renew_failed"] as const)
        node.on(event, ({ error }) => void troubles.add((error as { code: string }).code));
      nodes.push(node);
    }
    const client = createClient({ store: open(url), env });
    let n = 0;
    const load = async (ms: number) => {
      for (const until = performance.now() + ms; performance.now() < until; await pass(60)) {
        await startOne(client, n++).catch((error) => {
          if (error.code !== "SCHEMA_MISSING") throw error;
        });
      }
    };
    if (!fromTheStart) await load(400);
    await refuse();
    await load(2_500);
    await accept();
    await load(300);
    const watch = stores.at(-1)!.runs;
    try {
      const left = async () =>
        (await watch.list({ env, states: NOT_DONE }, { limit: 5 })).runs.map(({ state }) => state);
      // The schedule starts one now and then; failed ones would stay.
      await expect.poll(left, { timeout: 15_000, interval: 200 }).toEqual([]);
      for (let i = 0; i < n; i++) {
        const order = client.instance(orders, `${env}-${i}`);
        const wanted = i % 2 === 0 ? ["mailed"] : ["expired"];
        const ended = async () => {
          const { value } = await order.state().catch(() => ({ value: wanted[0] }));
          return wanted.includes(value as string);
        };
        await expect.poll(ended, { timeout: 20_000 }).toBe(true);
      }
      const twice = await pool.query(`select run from ${booked} group by run having count(*) > 1`);
      expect(twice.rows).toEqual([]);
      expect([...troubles]).toEqual(
        expect.arrayContaining([expect.stringMatching(/STORE_REFUSED|STORE_UNAVAILABLE|SCHEMA/)]),
      );
    } finally {
      await Promise.all(nodes.map((node) => node.stop({ grace: "1s" })));
      await Promise.all(stores.map((store) => store.close()));
    }
  },
);
