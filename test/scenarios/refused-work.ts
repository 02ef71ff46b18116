// Work of every kind while the server refuses the nodes for a while: nothing fails, nothing is done twice, all of it is done later.

import { randomBytes } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import type pg from "pg";
import { expect } from "vitest";
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
import { orderMachine } from "../machine/order-machine.js";
import { QUICK } from "../workflow/node-suite.js";

export interface Refusal {
  readonly refuse: () => Promise<unknown>;
  readonly accept: () => Promise<unknown>;
  readonly fromTheStart?: boolean;
  /** The store repeats what was refused, so that no node need report it. */
  readonly isRepeated?: boolean;
  /** How long it lasts at least. Default 2.5 s. It continues until a node has met it, unless `isRepeated`. */
  readonly ms?: number;
}

export interface RefusingServer {
  /** Of the nodes. */
  readonly url: string;
  /** Of the clients and of the check at the end; they may be refused, too. */
  readonly clientUrl: string;
  readonly schema: string;
  /** A table of the test's own: `run text`. */
  readonly booked: string;
  readonly query: (text: string) => Promise<{ readonly rows: pg.QueryResultRow[] }>;
}

interface Programs {
  readonly orders: ReturnType<typeof orderMachine>["orders"];
  readonly all: Parameters<typeof createNode>[0]["programs"];
  /** Whether everything that was sent was in time. */
  readonly startOne: (client: ReturnType<typeof createClient>, n: number) => Promise<boolean>;
}

interface Place {
  readonly env: string;
  readonly booked: string;
  /** Of the transaction step: a statement of its own that is cancelled counts as one. */
  readonly attempts: number;
}

function programs({ env, booked, attempts }: Place, node: () => Node): Programs {
  const paid = workflow("paid", async (ctx, n: number) => {
    await ctx.step("before", { retry: 1 }, () => pass(20));
    await ctx.transaction("book", { retry: { attempts, delay: 10, maxDelay: 50 } }, async (tx) => {
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
    // A send that had to wait may find that the order has expired.
    return n % 2 !== 0 || (await order.send({ type: "PAY", cents: 5 })).outcome === "applied";
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

const TROUBLES = [
  "store.trouble",
  "claim.failed",
  "housekeeping.failed",
  "lease.renew_failed",
  "schedule.failed",
  "timers.failed",
] as const;

/** Two nodes under load, with no second attempt for anything; `refusal` in the middle of it. */
export async function expectNothingEnds(server: RefusingServer, refusal: Refusal): Promise<void> {
  const { refuse, accept, fromTheStart = false, isRepeated = false, ms = 2_500 } = refusal;
  const { schema, booked } = server;
  const env = `e${randomBytes(3).toString("hex")}`;
  const stores: PostgresStore[] = [];
  const open = (at: string) => {
    const store = openPostgres(at, { schema, queryTimeout: "2s", retryFor: "1s" });
    stores.push(store);
    return store;
  };
  const nodes: Node[] = [];
  const { all, orders, startOne } = programs({ env, booked, attempts: isRepeated ? 100 : 1 }, () => nodes[0]!);
  const troubles = new Set<string>();
  for (const identity of ["a", "b"]) {
    const options = {
      timing: { ...QUICK.timing, housekeeping: 200, lease: "10s" },
      identity: { id: identity },
      env,
      programs: all,
    } as const;
    const node = await createNode({ ...options, store: open(server.url) });
    for (const event of TROUBLES) node.on(event, ({ error }) => void troubles.add((error as { code: string }).code));
    nodes.push(node);
  }
  const client = createClient({ store: open(server.clientUrl), env });
  let n = 0;
  /** The client was refused before it had sent everything, or sent it too late. */
  const partial = new Set<number>();
  const load = async (forMs: number) => {
    for (const until = performance.now() + forMs; performance.now() < until; await pass(60), n++) {
      const isWhole = await startOne(client, n).catch((error) => {
        if (!["SCHEMA_MISSING", "STORE_UNAVAILABLE"].includes(error.code)) throw error;
        return false;
      });
      if (!isWhole) partial.add(n);
    }
  };
  if (!fromTheStart) await load(400);
  await refuse();
  await load(ms);
  // The client may be refused first, and then the nodes have little to write.
  for (let more = 0; more < 40 && troubles.size === 0 && !isRepeated; more++) await load(500);
  await accept();
  await load(300);
  try {
    await expectAllDone(stores.at(-1)!, env);
    for (let i = 0; i < n; i++) {
      const order = client.instance(orders, `${env}-${i}`);
      const wanted = partial.has(i) ? ["mailed", "expired"] : i % 2 === 0 ? ["mailed"] : ["expired"];
      const ended = async () => {
        const { value } = await order.state().catch(() => ({ value: wanted[0] }));
        return wanted.includes(value as string);
      };
      await expect.poll(ended, { timeout: 20_000 }).toBe(true);
    }
    const twice = await server.query(`select run from ${booked} group by run having count(*) > 1`);
    expect(twice.rows).toEqual([]);
    if (isRepeated) return;
    expect([...troubles]).toEqual(
      expect.arrayContaining([expect.stringMatching(/STORE_REFUSED|STORE_UNAVAILABLE|SCHEMA/)]),
    );
  } finally {
    await Promise.all(nodes.map((node) => node.stop({ grace: "1s" })));
    await Promise.all(stores.map((store) => store.close()));
  }
}

/** The schedule starts one now and then; failed ones would stay. */
async function expectAllDone(store: PostgresStore, env: string): Promise<void> {
  const left = async () => {
    const { runs } = await store.runs.list({ env, states: NOT_DONE }, { limit: 5 });
    return Promise.all(
      runs.map(async ({ id, state, group }) => {
        const last = (await store.journal.read(id))?.entries.at(-1);
        return `${group.program} ${state}: ${last?.kind} ${last?.payload?.data ?? ""}`;
      }),
    );
  };
  await expect.poll(left, { timeout: 15_000, interval: 200 }).toEqual([]);
}
