// Runs that begin a new generation, are retried by an operator, and continue under changed code.

import { beforeAll, expect, test } from "vitest";
import type { Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { PermanentError } from "../../src/replay/step-error.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

const tick = signal<number>("tick");
const go = signal<void>("go");

onBothStores((bench) => {
  const keys: string[] = [];
  const asks: { runId: string; nth: number }[] = [];
  let broken = true;
  let crashes = 0;

  /** Adds signals up, three to a generation. */
  const counter = workflow("counter", async (ctx, sum: number): Promise<number> => {
    let total = sum;
    for (let i = 0; i < 3; i++) total += await ctx.waitFor(tick);
    await ctx.step("note", ({ idempotencyKey }) => void keys.push(idempotencyKey));
    if (total < 100) return ctx.continueAsNew(total);
    return total;
  });
  const asker = workflow("asker", async (ctx, nth: number): Promise<string> => {
    asks.push({ runId: ctx.runId, nth });
    const { outcome } = await ctx.approval("ok", { ask: `Number ${nth}?` });
    return nth < 2 ? ctx.continueAsNew(nth + 1) : outcome;
  });
  const fragile = workflow("fragile", async (ctx, name: string) => {
    const first = await ctx.step("first", () => ++crashes);
    const handled = await ctx
      .step("caught", { retry: 1 }, () => Promise.reject(new Error("handled")))
      .catch(() => "ok");
    await ctx.step("last", { retry: { attempts: 2, delay: 1 } }, ({ idempotencyKey }) => {
      keys.push(idempotencyKey);
      if (broken) throw new Error("still broken");
    });
    return { name, first, handled };
  });
  let node: Node;
  beforeAll(async () => {
    node = await bench.open({ programs: [counter, asker, fragile] });
  });
  const isParked = async (id: string) => (await node.run(id).status()).state === "parked";

  test("a run begins a new generation with other input, keeps its id, and loses no signal", async () => {
    const run = await node.start(counter, 0);
    for (let i = 1; i <= 15; i++) await run.signal(tick, i);
    expect(await run.result({ timeout: "10s" })).toBe(120);
    const { generation, baseSeq } = await run.status();
    expect(generation).toBe(4);
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(entries[0]).toMatchObject({ kind: "start", seq: baseSeq + 1 });
    const mine = keys.filter((key) => key.startsWith(run.id));
    expect(new Set(mine).size).toBe(5);
  });

  test("each generation asks for its approvals again", async () => {
    const run = await node.start(asker, 1);
    await expect.poll(() => isParked(run.id)).toBe(true);
    await run.decide("ok", { choice: "approved", by: "ann" });
    await expect.poll(() => asks.some(({ runId, nth }) => runId === run.id && nth === 2)).toBe(true);
    await expect.poll(() => isParked(run.id)).toBe(true);
    await run.decide("ok", { choice: "denied", by: "bob" });
    expect(await run.result({ timeout: "5s" })).toBe("denied");
  });

  test("a failed run that is retried tries what failed last again, and nothing else", async () => {
    broken = true;
    const run = await node.start(fragile, "a");
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_FAILED", state: "failed" });
    const { letters } = await node.dead.list({ program: "fragile" });
    expect(letters.map(({ id, reason }) => [id, reason?.message])).toEqual([[run.id, "still broken"]]);
    expect(await node.dead.count({ program: "fragile" })).toBe(1);
    broken = false;
    const before = crashes;
    expect(await node.dead.retry([run.id], { by: "ann" })).toEqual([{ outcome: "retried" }]);
    expect(await run.result({ timeout: "10s" })).toEqual({ name: "a", first: before, handled: "ok" });
    expect(crashes).toBe(before);
    expect(new Set(keys.filter((key) => key.startsWith(run.id) && key.includes("last"))).size).toBe(1);
    expect(await node.dead.count({ program: "fragile" })).toBe(0);
  });

  test("retried from its start, every step is done again, under other keys", async () => {
    broken = true;
    const run = await node.start(fragile, "b");
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_FAILED" });
    broken = false;
    const before = crashes;
    expect(await node.dead.retryAll({ program: "fragile" }, { from: "start" })).toBe(1);
    expect(await run.result({ timeout: "10s" })).toEqual({ name: "b", first: before + 1, handled: "ok" });
    expect(new Set(keys.filter((key) => key.startsWith(run.id) && key.includes("last"))).size).toBe(2);
  });

  test("patched code takes the old path in runs that had passed the change, the new path in others", async () => {
    const path: string[] = [];
    const step = (ctx: { step: (name: string, work: () => void) => Promise<void> }, name: string) =>
      ctx.step(name, () => void path.push(name));
    const old = workflow("changing", async (ctx) => {
      await step(ctx, "a");
      await step(ctx, "b");
      await ctx.waitFor(go);
      return "old";
    });
    const changed = workflow("changing", async (ctx) => {
      await step(ctx, "a");
      if (await ctx.patched("x instead of b")) await step(ctx, "x");
      else await step(ctx, "b");
      await ctx.waitFor(go);
      if (await ctx.patched("x instead of b")) await step(ctx, "y");
      return "new";
    });
    const first = await bench.open({ programs: [old] });
    const run = await first.start(old);
    await expect.poll(() => isParked(run.id)).toBe(true);
    await first.stop();
    const second = await bench.open({ programs: [changed] });
    await run.signal(go);
    expect(await second.run(run.id).result({ timeout: "5s" })).toBe("new");
    expect(path).toEqual(["a", "b"]);
    const fresh = await second.start(changed);
    await expect.poll(() => isParked(fresh.id)).toBe(true);
    await fresh.signal(go);
    expect(await fresh.result({ timeout: "5s" })).toBe("new");
    expect(path).toEqual(["a", "b", "a", "x", "y"]);
    await second.stop();
  });

  test("a run pinned to a version is left to nodes that have it", async () => {
    const v1 = workflow("pinned", { version: "1" }, async (ctx) => {
      await ctx.waitFor(go);
      return "v1";
    });
    const v2 = workflow("pinned", { version: "2" }, async () => "v2");
    const first = await bench.open({ programs: [v1] });
    const run = await first.start(v1);
    await expect.poll(() => isParked(run.id)).toBe(true);
    await first.stop();
    const second = await bench.open({ programs: [v2] });
    await run.signal(go);
    const other = await second.start(v2);
    expect(await other.result({ timeout: "5s" })).toBe("v2");
    await expect.poll(async () => (await run.status()).state).toBe("waiting");
    const both = await bench.open({ programs: [v1, v2] });
    expect(await both.run(run.id).result({ timeout: "5s" })).toBe("v1");
    await Promise.all([second.stop(), both.stop()]);
  });

  test("a journal that grows too long is reported, then stopped; the run can be read, cancelled and retried", async () => {
    const endless = workflow("endless", async (ctx) => {
      for (let i = 0; ; i++) await ctx.step("more", () => i);
    });
    const long = await bench.open({ programs: [endless], recovery: { historyWarning: 20, historyLimit: 40 } });
    const told: number[] = [];
    long.on("run.history_long", ({ length }) => void told.push(length));
    const run = await long.start(endless);
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({
      state: "quarantined",
      cause: { code: "HISTORY_LIMIT" },
    });
    expect(told).toHaveLength(1);
    expect((await bench.store.journal.read(run.id))!.entries.length).toBeGreaterThanOrEqual(40);
    await long.dead.retry([run.id]);
    await expect.poll(async () => (await run.status()).state).toBe("quarantined");
    await long.stop();
  });

  test("a step waits out a long back-off without a claim, and its rest after a crash", async () => {
    let attempts = 0;
    const patient = workflow("patient", async (ctx) =>
      ctx.step("try", { retry: { attempts: 2, delay: "6s", jitter: 0 } }, () => {
        if (++attempts === 1) throw new Error("not yet");
        return attempts;
      }),
    );
    const waiting = await bench.open({ programs: [patient] });
    const run = await waiting.start(patient);
    await expect.poll(() => isParked(run.id), { timeout: 5_000 }).toBe(true);
    const { wakeAt } = await run.status();
    const tried = (await bench.store.journal.read(run.id))!.entries.find(({ kind }) => kind === "step.tried")!;
    expect(Math.abs(wakeAt! - tried.at - 6_000)).toBeLessThan(500);
    expect(waiting.active).toBe(0);
    expect(await run.result({ timeout: "20s" })).toBe(2);
    await waiting.stop();
  }, 30_000);

  test("a step decides which of its errors are worth another attempt", async () => {
    const attempts: number[] = [];
    const picky = workflow("picky", async (ctx) =>
      ctx.step(
        "try",
        { retry: { attempts: 5, delay: 1 }, retryIf: (error) => (error as Error).message === "busy" },
        ({ attempt }) => {
          attempts.push(attempt);
          throw attempt === 1 ? new Error("busy") : new PermanentErrorLike();
        },
      ),
    );
    class PermanentErrorLike extends Error {
      override message = "bad request";
    }
    const choosing = await bench.open({ programs: [picky] });
    const run = await choosing.start(picky);
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { message: "bad request" } });
    expect(attempts).toEqual([1, 2]);
    await choosing.stop();
  });

  test("steps are reported as they start, succeed, are retried and fail, with the node that executed them", async () => {
    const told: unknown[] = [];
    const story = workflow("story", async (ctx) => {
      await ctx.step("good", () => 1);
      await ctx
        .step("bad", { retry: { attempts: 2, delay: 1 } }, () => Promise.reject(new Error("no")))
        .catch(() => {});
    });
    const telling = await bench.open({ programs: [story], identity: { name: "teller" } });
    for (const name of ["step.started", "step.completed", "step.retried", "step.failed"] as const)
      telling.on(name, ({ runId, step, attempt, node }) => void told.push([name, runId, step, attempt, node.name]));
    const run = await telling.start(story);
    await run.result({ timeout: "5s" });
    expect(told).toEqual([
      ["step.started", run.id, "good", 1, "teller"],
      ["step.completed", run.id, "good", 1, "teller"],
      ["step.started", run.id, "bad", 1, "teller"],
      ["step.retried", run.id, "bad", 1, "teller"],
      ["step.started", run.id, "bad", 2, "teller"],
      ["step.failed", run.id, "bad", 2, "teller"],
    ]);
    await telling.stop();
  });

  test("a function of services is called for each run", async () => {
    const served = workflow("served", async (ctx, _name: string) => ({ ...ctx.services }) as Record<string, string>);
    const serving = await bench.open({
      programs: [served],
      services: async ({ input, program: name }) => {
        if (input === "none") throw new PermanentError("no model for you");
        const shared = { model: "small", mail: "smtp" };
        return input === "big" ? { ...shared, model: `big for ${name}` } : shared;
      },
    });
    const big = await serving.start(served, "big");
    const small = await serving.start(served, "small");
    const none = await serving.start(served, "none");
    expect(await big.result({ timeout: "5s" })).toEqual({ model: "big for served", mail: "smtp" });
    expect(await small.result({ timeout: "5s" })).toEqual({ model: "small", mail: "smtp" });
    await expect(none.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { message: "no model for you" } });
    await serving.stop();
  });

  test("an approval without a decision takes its default", async () => {
    const lenient = workflow("lenient", async (ctx) =>
      ctx.approval("ok", { ask: "?", timeout: 30, default: "approved" }),
    );
    const asking = await bench.open({ programs: [lenient] });
    const run = await asking.start(lenient);
    expect(await run.result({ timeout: "5s" })).toEqual({ outcome: "approved", by: null, note: null });
    await asking.stop();
  });

  test("a decision on something other than what was shown is rejected", async () => {
    const run = await node.start(asker, 2);
    await expect.poll(() => isParked(run.id)).toBe(true);
    const stale = run.decide("ok", { choice: "approved", by: "ann", shown: "something else" });
    await expect(stale).rejects.toMatchObject({ code: "DECISION_STALE" });
    const { entries } = (await bench.store.journal.read(run.id))!;
    const asked = JSON.parse(entries.find(({ kind }) => kind === "approval.begun")!.payload!.data) as { hash: string };
    await run.decide("ok", { choice: "approved", by: "ann", shown: asked.hash });
    expect(await run.result({ timeout: "5s" })).toBe("approved");
  });

  test("a delayed run starts when it is due, not at the next poll", async () => {
    const stamp = workflow("stamp", async (ctx) => (await ctx.now()).getTime());
    const slow = await bench.open({ programs: [stamp], timing: { pollInterval: "20s", pollMax: "20s" } });
    const run = await slow.start(stamp, undefined, { delay: 700 });
    const at = await run.result({ timeout: "10s" });
    const { createdAt } = await run.status();
    expect(at - createdAt).toBeGreaterThanOrEqual(700);
    expect(at - createdAt).toBeLessThan(5_000);
    await slow.stop();
  }, 20_000);
});
