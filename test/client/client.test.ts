// Starting runs and sending to them, from a client that never works on one.

import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { KeyConflict } from "../../src/client/runs.js";
import { createNode, type Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";
import { onBothStores } from "../workflow/node-suite.js";

const paid = signal<{ cents: number }>("paid");
const double = workflow("double", async (ctx, n: number) => ctx.step("double", () => n * 2));
const pinned = workflow("pinned", { queue: "other", version: "2" }, async () => "from version 2");
const billed = workflow("billed", async (ctx) => (await ctx.waitFor(paid)).cents);
const asked = workflow("asked", async (ctx) => {
  const answer = await ctx.approval("ship", { ask: "Ship?" });
  return answer.outcome === "expired" ? "expired" : `${answer.outcome} by ${answer.by}`;
});
const programs = [double, pinned, billed, asked];

onBothStores((bench) => {
  const client = () => createClient<typeof programs>({ store: bench.store });
  beforeAll(async () => {
    await bench.open({ programs });
  });

  test("a client starts a program by its name, and gets its result", async () => {
    const run = await client().start("double", 21);
    expect(await run.result({ timeout: "10s" })).toBe(42);
    expect(await client().run(run.id).result({ timeout: "10s" })).toBe(42);
  });

  test("a start by name states queue and version where they are not the default", async () => {
    const run = await client().start("pinned", undefined, { queue: "other", version: "2" });
    expect(await run.result({ timeout: "10s" })).toBe("from version 2");
    expect(await (await client().start(pinned)).result({ timeout: "10s" })).toBe("from version 2");
  });

  test("a client never claims: a run of a program that no node has waits", async () => {
    const nobody = workflow("nobody-has-this", async () => 1);
    const run = await client().start(nobody);
    expect(await run.status()).toMatchObject({ state: "waiting", epoch: 0 });
    await run.cancel();
  });

  test("the same key and input return the same run, other input is a conflict", async () => {
    const first = await client().start("double", 1, { key: "once" });
    expect((await client().start("double", 1, { key: "once" })).id).toBe(first.id);
    await expect(client().start("double", 2, { key: "once" })).rejects.toMatchObject({
      code: "KEY_CONFLICT",
      runId: first.id,
    });
  });

  test("many starts are one call to the store, and the results are in the order of the starts", async () => {
    let calls = 0;
    const { runs } = bench.store;
    const counting = {
      ...bench.store,
      runs: {
        ...runs,
        insert: (...all: Parameters<typeof runs.insert>) => {
          calls++;
          return runs.insert(...all);
        },
      },
    };
    const old = await client().start("double", 5, { key: "taken" });
    const outcomes = await createClient<typeof programs>({ store: counting }).startMany("double", [
      { input: 1 },
      { input: 5, key: "taken" },
      { input: 6, key: "taken" },
      { input: (() => 1) as unknown as number },
      { input: 7, priority: 0.5 },
      { input: 2, key: "fresh", priority: 3, delay: 10 },
    ]);
    expect(calls).toBe(1);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      "started",
      "existing",
      "conflict",
      "refused",
      "refused",
      "started",
    ]);
    const [first, existing, conflict, refused, , last] = outcomes;
    expect(existing).toMatchObject({ run: { id: old.id } });
    expect(conflict).toMatchObject({ run: { id: old.id } });
    expect(conflict?.outcome === "conflict" && conflict.error).toBeInstanceOf(KeyConflict);
    expect(refused).toMatchObject({ error: { code: "INVALID_INPUT", path: "input" } });
    expect(first?.outcome === "started" && (await first.run.result({ timeout: "10s" }))).toBe(2);
    expect(last?.outcome === "started" && (await last.run.result({ timeout: "10s" }))).toBe(4);
  });

  test("a node starts many runs, too, and an empty list returns an empty list", async () => {
    const node = await bench.open({ programs: [] });
    const [one, ...more] = await node.startMany(double, [{ input: 8 }]);
    expect(more).toEqual([]);
    expect(one?.outcome === "started" && (await one.run.result({ timeout: "10s" }))).toBe(16);
    expect(await node.startMany(double, [])).toEqual([]);
  });
});

describe("in the caller's own transaction, on PostgreSQL", () => {
  const { url, schema, pool } = testSchema();
  let store: PostgresStore;
  let node: Node;
  beforeAll(async () => {
    store = openPostgres(url, { schema });
    await store.migrate();
    node = await createNode({ store, programs, timing: { pollInterval: "5s" } });
  });
  afterAll(async () => {
    await node.stop();
    await store.close();
  });
  const client = () => createClient<typeof programs>({ store });

  async function transaction(end: "commit" | "rollback", work: (tx: pg.PoolClient) => Promise<unknown>) {
    const tx = await pool.connect();
    try {
      await tx.query("begin");
      await work(tx);
      await tx.query(end);
    } finally {
      tx.release();
    }
  }
  const parked = async (id: string) =>
    expect.poll(async () => (await store.runs.get(id))?.state, { timeout: 10_000 }).toBe("parked");

  test("starts and batch starts are there when it commits, and not when it rolls back", async () => {
    const ids: string[] = [];
    for (const end of ["rollback", "commit"] as const) {
      await transaction(end, async (tx) => {
        ids.push((await client().start("double", 1, { tx })).id);
        const [one] = await client().startMany("double", [{ input: 2 }], { tx });
        if (one?.outcome === "started") ids.push(one.run.id);
        expect(await store.runs.get(ids.at(-1)!)).toBeNull();
      });
    }
    expect(ids).toHaveLength(4);
    expect(await Promise.all(ids.slice(0, 2).map((id) => store.runs.get(id)))).toEqual([null, null]);
    expect(await Promise.all(ids.slice(2).map((id) => client().run(id).result({ timeout: "10s" })))).toEqual([2, 4]);
  });

  test("a signal that is rolled back was never sent; one that is committed arrives", async () => {
    const run = await client().start("billed");
    await parked(run.id);
    await transaction("rollback", (tx) => run.signal(paid, { cents: 1 }, { tx }));
    expect(await store.inbox.unread(run.id)).toEqual([]);
    await transaction("commit", async (tx) => {
      await run.signal(paid, { cents: 300 }, { tx });
      expect(await store.inbox.unread(run.id)).toEqual([]);
    });
    expect(await run.result({ timeout: "10s" })).toBe(300);
  });

  test("a decision that is rolled back leaves the question open; one that is committed counts", async () => {
    const run = await client().start("asked");
    await parked(run.id);
    await transaction("rollback", (tx) => run.decide("ship", { choice: "denied", by: "ann" }, { tx }));
    await transaction("commit", (tx) => run.decide("ship", { choice: "approved", by: "bob" }, { tx }));
    await expect(run.decide("ship", { choice: "denied", by: "ann" })).rejects.toMatchObject({
      code: "DECISION_CONFLICT",
      by: "bob",
    });
    expect(await run.result({ timeout: "10s" })).toBe("approved by bob");
  });

  test("unknown, ended and decided runs are rejected as outside of a transaction", async () => {
    const ended = await client().start("double", 1);
    await ended.result({ timeout: "10s" });
    const open = await client().start("asked");
    await parked(open.id);
    await transaction("rollback", async (tx) => {
      const unknown = client().run("00000000-0000-7000-8000-000000000000");
      await expect(unknown.signal(paid, { cents: 1 }, { tx })).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
      await expect(ended.signal(paid, { cents: 1 }, { tx })).rejects.toMatchObject({ code: "RUN_ENDED" });
      await open.decide("ship", { choice: "approved", by: "ann" }, { tx });
      await expect(open.decide("ship", { choice: "denied", by: "bob" }, { tx })).rejects.toMatchObject({
        code: "DECISION_CONFLICT",
        by: "ann",
      });
    });
    await open.cancel();
  });
});
