// Stubs, journals and databases of a test node.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { signal, workflow } from "holdfast";
import { graph, state } from "holdfast/graph";
import { testNode } from "holdfast/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { compiled } from "../harness/compiled.js";

const ROOT = join(import.meta.dirname, "../..");

describe("stubs", () => {
  test("answer every round of a loop that waits", async () => {
    const tick = signal<number>("tick");
    const counts = workflow("counts", async (ctx) => {
      let sum = 0;
      for (let n = 0; n < 4; n++) sum += await ctx.waitFor(tick);
      return sum;
    });
    await using node = testNode({ programs: [counts] });
    node.stub.signal(tick, 3);
    expect(await (await node.start(counts)).result()).toBe(12);
  });

  test("replace the nodes of a graph and decide its approvals", async () => {
    const S = state<{ text: string; ok: boolean }>({});
    const draft = graph("draft", {
      state: S,
      init: (_title: string) => ({ text: "", ok: false }),
      start: "write",
      nodes: {
        write: async () => ({ text: "from a model" }),
        review: S.approval({ ask: ({ text }) => text, apply: (_s, { outcome }) => ({ ok: outcome === "approved" }) }),
      },
      edges: { write: "review", review: "end" },
      output: ({ text, ok }) => `${text} ${ok}`,
    });
    await using node = testNode({ programs: [draft] });
    node.stub.approval("review", { choice: "approved", by: "ann" });
    expect(await (await node.start(draft, "t")).result()).toBe("from a model true");
  });

  test("a child stub that is set late replaces the program", async () => {
    const child = workflow("child", async (_ctx, n: number) => n);
    const parent = workflow("parent", async (ctx, n: number) => ctx.child(child, n));
    await using node = testNode({ programs: [parent, child] });
    expect(await (await node.start(parent, 1)).result()).toBe(1);
    node.stub.child(child, (n) => n + 10);
    expect(await (await node.start(parent, 1)).result()).toBe(11);
  });
});

describe("the journal", () => {
  test("says what differs", async () => {
    const two = workflow("two", async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("b", () => 2);
    });
    await using node = testNode({ programs: [two] });
    const run = await node.start(two);
    await run.result();
    const journal = await run.journal();
    journal.expectSteps("a", "b");
    expect(() => journal.expectSteps("b", "a")).toThrow(/Expected the steps b, a; done: a, b\./);
    expect(journal.toString()).toContain("step a done");
    expect(journal.step("c")).toBeUndefined();
  });
});

describe("a transaction", () => {
  const table = `orders_${process.pid}`;
  let pool: pg.Pool;
  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: inject("databaseUrl"), max: 2 });
    pool.on("error", () => {});
    await pool.query(`create table ${table} (id text primary key)`);
  });
  afterAll(async () => {
    await pool.query(`drop table ${table}`);
    await pool.end();
  });
  const isStored = async (id: string) =>
    (await pool.query(`select 1 from ${table} where id = $1`, [id])).rows.length === 1;

  let hanging = false;
  const save = workflow("save", async (ctx, id: string) => {
    await ctx.sleep("a month", "30d");
    await ctx.transaction("insert", { retry: 1 }, async (tx) => {
      await tx.query(`insert into ${table} (id) values ($1)`, [id]);
      if (id === "bad") throw new Error("no");
      hanging = id === "hangs";
      if (hanging) await new Promise(() => {});
    });
    await ctx.sleep("another month", "30d");
    return id;
  });

  test("without a database says what to pass", async () => {
    await using node = testNode({ programs: [save] });
    await expect((await node.start(save, "o-1")).result()).rejects.toThrow(/Pass testNode\(\{ database \}\)/);
  });

  test("commits on a real database, in skipped time", async () => {
    await using node = testNode({ programs: [save], database: pool });
    expect(await (await node.start(save, "o-1")).result()).toBe("o-1");
    expect(await isStored("o-1")).toBe(true);
  });

  test("rolls back what its step did not record", async () => {
    await using node = testNode({ programs: [save], database: pool });
    await expect((await node.start(save, "bad")).result()).rejects.toThrow("no");
    expect(await isStored("bad")).toBe(false);
  });

  test("ends with its process", async () => {
    await using node = testNode({ programs: [save], database: pool, patience: "100ms" });
    const run = await node.start(save, "hangs");
    await node.advance("30d");
    await node.advance("10s");
    expect(hanging).toBe(true);
    await node.crash();
    expect((await run.journal()).step("insert")).toBeUndefined();
    await pool.query(`insert into ${table} (id) values ('hangs')`); // its lock is gone
  });
});

test("the example for node:test passes", async () => {
  const file = compiled(join(ROOT, "examples/testing-node-test.ts"));
  const { stdout } = await promisify(execFile)(process.execPath, ["--test", "--test-reporter=tap", file]);
  expect(stdout).toMatch(/# pass 1/);
});
