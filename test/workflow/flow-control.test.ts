// Limits as users write them, through the engine, on the memory store and on PostgreSQL.

import { expect, test } from "vitest";
import { InvalidInput } from "../../src/kernel/error.js";
import { createNode } from "../../src/node/create-node.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

interface Order {
  readonly customer: { readonly id: string };
  readonly n: number;
}

const order = (id: string, n = 0): Order => ({ customer: { id }, n });
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** How many were inside at once, at most; by key. */
class Gauge {
  readonly #inside = new Map<string, number>();
  readonly most = new Map<string, number>();

  /** Stays inside until this many have been there together, however slow the machine is; then a moment longer. */
  async pass(key: string, together: number): Promise<void> {
    const now = (this.#inside.get(key) ?? 0) + 1;
    this.#inside.set(key, now);
    this.most.set(key, Math.max(this.most.get(key) ?? 0, now));
    for (let waited = 0; this.most.get(key)! < together && waited < 2000; waited++) await pause(5);
    await pause(5);
    this.#inside.set(key, this.#inside.get(key)! - 1);
  }
}

onBothStores((bench) => {
  test("as many runs as the queue's limit are in progress, and never more", async () => {
    const gauge = new Gauge();
    const narrow = workflow("narrow", { concurrency: 3 }, async (ctx, n: number) =>
      ctx.step("pass", async () => {
        await gauge.pass("all", 3);
        return n;
      }),
    );
    const node = await bench.open({ programs: [narrow], concurrency: 20 });
    const runs = await Promise.all(Array.from({ length: 30 }, (_, i) => node.start(narrow, i)));
    expect(await Promise.all(runs.map((run) => run.result({ timeout: "20s" })))).toHaveLength(30);
    expect(gauge.most.get("all")).toBe(3);
  });

  test("each key has a limit of its own, within the queue's", async () => {
    const gauge = new Gauge();
    const keyed = workflow(
      "keyed",
      { concurrency: [{ key: "customer.id", limit: 2 }, 5] },
      async (ctx, { customer }: Order) => {
        await ctx.step("pass", () => Promise.all([gauge.pass(customer.id, 2), gauge.pass("all", 5)]));
      },
    );
    const node = await bench.open({ programs: [keyed], concurrency: 20 });
    const runs = await Promise.all(Array.from({ length: 60 }, (_, i) => node.start(keyed, order(`c${i % 4}`))));
    await Promise.all(runs.map((run) => run.result({ timeout: "20s" })));
    expect(Math.max(...["c0", "c1", "c2", "c3"].map((id) => gauge.most.get(id)!))).toBe(2);
    expect(gauge.most.get("all")).toBe(5);
  });

  test("serial: runs of one key one after the other, in order, also while one sleeps or is retried", async () => {
    const log: string[] = [];
    const serial = workflow("serial", { serial: "customer.id" }, async (ctx, { customer, n }: Order) => {
      await ctx.step("begin", () => void log.push(`${customer.id} begins ${n}`));
      await ctx.sleep("a while", 30);
      await ctx.step("try", { retry: { attempts: 2, delay: 10 } }, ({ attempt }) => {
        if (attempt === 1) throw new Error("again");
      });
      await ctx.step("end", () => void log.push(`${customer.id} ends ${n}`));
    });
    const node = await bench.open({ programs: [serial], concurrency: 20 });
    const runs = [];
    for (let n = 0; n < 5; n++) for (const id of ["a", "b"]) runs.push(await node.start(serial, order(id, n)));
    await Promise.all(runs.map((run) => run.result({ timeout: "20s" })));
    for (const id of ["a", "b"]) {
      const mine = log.filter((line) => line.startsWith(id));
      expect(mine).toEqual([0, 1, 2, 3, 4].flatMap((n) => [`${id} begins ${n}`, `${id} ends ${n}`]));
    }
    // Two keys in parallel, not one after the other.
    expect(log.indexOf("b begins 0")).toBeLessThan(log.indexOf("a ends 4"));
  });

  test("a rate lets no run start before its time, and forgets none", async () => {
    const starts: number[] = [];
    const paced = workflow("paced", { rate: { limit: 10, per: "500ms" } }, async (ctx) => {
      await ctx.step("start", () => void starts.push(performance.now()));
    });
    const node = await bench.open({ programs: [paced], concurrency: 40 });
    const from = performance.now();
    const runs = await Promise.all(Array.from({ length: 40 }, () => node.start(paced)));
    await Promise.all(runs.map((run) => run.result({ timeout: "20s" })));
    expect(starts).toHaveLength(40);
    // A loaded machine may start a run late, but nothing starts one early: in no window from the beginning are there more.
    const early = starts.filter((at, k) => at - from < k * 50 - 5);
    expect(early).toEqual([]);
  });

  test("a run that sleeps keeps no slot", async () => {
    const sleeper = workflow("sleeper", { concurrency: 1 }, async (ctx, ms: number) => {
      await ctx.sleep("long", ms);
      return ms;
    });
    const node = await bench.open({ programs: [sleeper] });
    const long = await node.start(sleeper, 60_000);
    await expect.poll(async () => (await long.status()).state, { timeout: 5000 }).toBe("parked");
    expect(await (await node.start(sleeper, 1)).result({ timeout: "10s" })).toBe(1);
    expect((await long.status()).state).toBe("parked");
    await long.cancel();
  });

  test("children wait in line as well, and a parent gives its slot to them", async () => {
    const gauge = new Gauge();
    const child = workflow("limited-child", { queue: "family", concurrency: 2 }, async (ctx, n: number) => {
      await ctx.step("pass", () => gauge.pass("all", 2));
      return n;
    });
    const parent = workflow("limited-parent", { queue: "family", concurrency: 2 }, async (ctx) =>
      (await ctx.children(child, [1, 2, 3, 4, 5, 6])).reduce((a, b) => a + b, 0),
    );
    const node = await bench.open({ programs: [child, parent], concurrency: 20 });
    const runs = await Promise.all([1, 2, 3].map(() => node.start(parent)));
    expect(await Promise.all(runs.map((run) => run.result({ timeout: "20s" })))).toEqual([21, 21, 21]);
    expect(gauge.most.get("all")).toBe(2);
  });

  test("an input without the key is rejected before anything is written, also that of a child", async () => {
    const strict = workflow("strict", { serial: "customer.id" }, async (_ctx, _order: Order) => {});
    const careless = workflow("careless", async (ctx) => {
      try {
        await ctx.child(strict, {} as Order);
        return "started";
      } catch (error) {
        return (error as InvalidInput).path;
      }
    });
    const node = await bench.open({ programs: [strict, careless] });
    const bad = [{}, { customer: null }, { customer: { id: { deep: 1 } } }, { customer: { id: Number.NaN } }, null];
    for (const input of bad) {
      await expect(node.start(strict, input as unknown as Order)).rejects.toMatchObject({
        code: "INVALID_INPUT",
        path: "input.customer.id",
      });
    }
    await expect(node.start(strict, order("x".repeat(600)))).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(await bench.store.runs.count({ env: "default", program: "strict" })).toEqual({});
    expect(await (await node.start(careless)).result({ timeout: "10s" })).toBe("input.customer.id");
  });

  test("a paused queue starts nothing until it is resumed; running runs continue", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const paused = workflow("paused-one", async (ctx, wait: boolean) => {
      await ctx.step("wait", () => (wait ? held : undefined));
      return "done";
    });
    const node = await bench.open({ programs: [paused] });
    const running = await node.start(paused, true);
    await expect.poll(async () => (await running.status()).state, { timeout: 5000 }).toBe("running");
    await node.queues.pause("paused-one", { by: "ann" });
    const waiting = await node.start(paused, false);
    release();
    expect(await running.result({ timeout: "10s" })).toBe("done");
    const queue = (await node.queues.list()).find((one) => one.queue === "paused-one");
    expect(queue).toMatchObject({ counts: { waiting: 1 }, paused: { by: "ann" } });
    expect((await waiting.status()).state).toBe("waiting");
    await node.queues.resume("paused-one");
    expect(await waiting.result({ timeout: "10s" })).toBe("done");
    expect((await node.queues.list()).find((one) => one.queue === "paused-one")?.paused ?? null).toBeNull();
  });
});

test("invalid limits are rejected where they are defined", () => {
  const define = (options: object) => () => workflow("bad", options, async () => {});
  for (const options of [
    { concurrency: 0 },
    { concurrency: 1.5 },
    { concurrency: { key: "a.b", limit: 0 } },
    { concurrency: { key: "a..b", limit: 1 } },
    { concurrency: { key: "", limit: 1 } },
    { concurrency: [5, 6] },
    {
      concurrency: [
        { key: "a", limit: 1 },
        { key: "a", limit: 2 },
      ],
    },
    { rate: { limit: 0, per: "1s" } },
    { rate: { limit: 1, per: 0 } },
    { rate: { limit: 1, per: "soon" } },
    { rate: 5 },
    { serial: 5 },
  ]) {
    expect(define(options), JSON.stringify(options)).toThrow(InvalidInput);
  }
});

test("limits are data, narrow to wide and in one order however they were written", async () => {
  const { limits } = workflow(
    "data",
    {
      rate: [
        { limit: 100, per: "1s" },
        { key: "n", limit: 1, per: 10 },
      ],
      concurrency: [50, { key: "n", limit: 2 }, { key: "customer.id", limit: 5 }],
      serial: "customer.id",
    },
    async (_ctx, _order: Order) => {},
  );
  expect(JSON.parse(JSON.stringify(limits))).toEqual([
    { kind: "serial", path: ["customer", "id"], max: 1, perMs: null },
    { kind: "slots", path: ["customer", "id"], max: 5, perMs: null },
    { kind: "slots", path: ["n"], max: 2, perMs: null },
    { kind: "slots", path: null, max: 50, perMs: null },
    { kind: "rate", path: ["n"], max: 1, perMs: 10 },
    { kind: "rate", path: null, max: 100, perMs: 1000 },
  ]);
  await using node = await createNode({ store: memoryStore(), programs: [] });
  expect(await node.queues.list()).toEqual([]);
});

test("a path compiles only where the input has a text, a number or a boolean", () => {
  type Input = {
    customer: { id: string; since: Date; tags: string[]; vip?: boolean };
    n: number;
    big: bigint;
    on: boolean;
    maybe: string | null;
    "a.b": string;
  };
  const run = async (_ctx: unknown, _input: Input) => {};
  workflow("p", { serial: "customer.id" }, run);
  workflow(
    "p",
    {
      concurrency: [
        { key: "n", limit: 1 },
        { key: "big", limit: 1 },
      ],
    },
    run,
  );
  workflow("p", { rate: { key: "on", limit: 1, per: "1s" } }, run);
  workflow("p", { serial: "customer.id" }, async (ctx, input: Input) => ctx.step("s", () => input.n));
  // @ts-expect-error: no such name
  workflow("p", { serial: "customer.name" }, run);
  // @ts-expect-error: an object is no key
  workflow("p", { serial: "customer" }, run);
  // @ts-expect-error: it may be missing
  workflow("p", { serial: "customer.vip" }, run);
  // @ts-expect-error: it may be null
  workflow("p", { concurrency: { key: "maybe", limit: 1 } }, run);
  // @ts-expect-error: a list is no key
  workflow("p", { serial: "customer.tags" }, run);
  // @ts-expect-error: a name with a dot has no path
  workflow("p", { serial: "a.b" }, run);
  // @ts-expect-error: no input, no path
  workflow("p", { serial: "customer.id" }, async () => {});
});
