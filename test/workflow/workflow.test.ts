// Durable workflows through the engine, on the memory store and on PostgreSQL.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode, type Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { PermanentError } from "../../src/replay/step-error.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";

const { url, schema } = testSchema();
const FAST = { timing: { pollInterval: 20, pollMax: 50, housekeeping: 20, lease: 2_000 } } as const;
const paid = signal<{ cents: number }>("paid");
const log: string[] = [];
const note = (line: string) => {
  log.push(line);
  return line;
};

const hello = workflow("hello", async (ctx, name: string) => {
  const greeting = await ctx.step("greet", () => `hello ${name}`);
  const id = await ctx.uuid();
  return { greeting, id };
});
const parallel = workflow("parallel", async (ctx, n: number) => {
  const parts = await Promise.all(Array.from({ length: n }, (_, i) => ctx.step("part", { key: `k${i}` }, () => i * 2)));
  return parts.reduce((a, b) => a + b, 0);
});
const flaky = workflow("flaky", async (ctx, failures: number) =>
  ctx.step("try", { retry: { attempts: 3, delay: 1, backoff: "fixed" } }, ({ attempt }) => {
    if (attempt <= failures) throw new Error(`attempt ${attempt}`);
    return attempt;
  }),
);
const permanent = workflow("permanent", async (ctx) =>
  ctx.step("no", () => {
    throw new PermanentError("never");
  }),
);
const sleeper = workflow("sleeper", async (ctx, ms: number) => {
  note(`${ctx.runId} before`);
  await ctx.step("once", () => note(`${ctx.runId} once`));
  await ctx.sleep("nap", ms);
  return "awake";
});
const waiter = workflow("waiter", async (ctx) => {
  const first = await ctx.waitFor(paid);
  const second = await ctx.waitFor(paid, { timeout: 30 });
  const third = await ctx.waitFor(paid);
  return [first.cents, second?.cents ?? null, third.cents];
});
const race = workflow("race", async (ctx) =>
  Promise.race([
    ctx.step("slow", () => new Promise((r) => setTimeout(() => r("slow"), 2_000))),
    ctx.sleep("limit", 50),
  ]),
);
const programs = [hello, parallel, flaky, permanent, sleeper, waiter, race];

function suite(open: () => Promise<Store>): void {
  let store: Store;
  let node: Node;
  beforeAll(async () => {
    store = await open();
    node = await createNode({ store, programs, ...FAST });
  });
  afterAll(async () => {
    await node.stop({ grace: "1s" });
    await store.close();
  });

  test("runs steps and returns a typed result", async () => {
    const run = await node.start(hello, "world");
    const { greeting, id } = await run.result({ timeout: "5s" });
    expect(greeting).toBe("hello world");
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    const { entries } = (await store.journal.read(run.id))!;
    expect(entries.map(({ kind }) => kind)).toEqual(["start", "step", "value", "completed"]);
  });

  test("parallel steps are each recorded once", async () => {
    const run = await node.start(parallel, 20);
    expect(await run.result({ timeout: "5s" })).toBe(380);
    expect((await run.status()).seq).toBe(22);
  });

  test("a failing step is retried, and its last error fails the run", async () => {
    expect(await (await node.start(flaky, 2)).result({ timeout: "5s" })).toBe(3);
    const error = await (await node.start(flaky, 9)).result({ timeout: "5s" }).catch((e) => e);
    expect(error).toMatchObject({ code: "RUN_FAILED", state: "failed", cause: { message: "attempt 3" } });
  });

  test("a permanent error is not retried", async () => {
    const run = await node.start(permanent);
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { message: "never" } });
    expect((await run.status()).seq).toBe(3);
  });

  test("a sleeping run holds no claim and continues where it was", async () => {
    const run = await node.start(sleeper, 150);
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("parked");
    expect(await run.result({ timeout: "5s" })).toBe("awake");
    expect(log.filter((line) => line === `${run.id} once`)).toHaveLength(1);
    expect(log.filter((line) => line === `${run.id} before`).length).toBeGreaterThan(1);
  });

  test("signals are consumed in order, kept when they come early, and a timeout consumes none", async () => {
    const run = await node.start(waiter);
    await run.signal(paid, { cents: 1 });
    await expect
      .poll(async () => (await store.journal.read(run.id))!.entries.some(({ kind }) => kind === "wait.expired"), {
        timeout: 5_000,
      })
      .toBe(true);
    await run.signal(paid, { cents: 3 });
    expect(await run.result({ timeout: "5s" })).toEqual([1, null, 3]);
  });

  test("a sleep that ends while a step runs wins the race", async () => {
    expect(await (await node.start(race)).result({ timeout: "5s" })).toBeUndefined();
  });

  test("a cancelled run ends, wherever it waits", async () => {
    const run = await node.start(sleeper, 60_000);
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("parked");
    // A node runs the function's clean-up, of which there is none here.
    expect(await run.cancel({ by: "test" })).not.toMatchObject({ acknowledged: false });
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  });

  test("the same key and input return the same run, other input is a conflict", async () => {
    const first = await node.start(hello, "a", { key: "order:1" });
    expect((await node.start(hello, "a", { key: "order:1" })).id).toBe(first.id);
    await expect(node.start(hello, "b", { key: "order:1" })).rejects.toMatchObject({ code: "KEY_CONFLICT" });
  });
}

describe("on the memory store", () => suite(async () => memoryStore()));

describe("on PostgreSQL", () =>
  suite(async () => {
    const store: PostgresStore = openPostgres(url, { schema });
    await store.migrate();
    return store;
  }));
