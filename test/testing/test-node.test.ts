// `testNode`: time skips while everything waits, crashes lose what was not committed, and no call hangs.

import { every, signal, workflow } from "holdfast";
import { testNode } from "holdfast/testing";
import { expect, test } from "vitest";
import { toMs } from "../../src/kernel/duration.js";
import { GIVE_UP, PATIENCE } from "../../src/testing/node/test-bed.js";

const DAY = 86_400_000;
const go = signal<{ n: number }>("go");

test("30 days of sleep take milliseconds", async () => {
  const nap = workflow("nap", async (ctx, days: number) => {
    await ctx.sleep("long", `${days}d`);
    return "awake";
  });
  await using node = testNode({ programs: [nap] });
  const from = node.now.getTime();
  const startedAt = performance.now();
  const run = await node.start(nap, 30);
  expect(await run.result()).toBe("awake");
  expect(node.now.getTime() - from).toBeGreaterThanOrEqual(30 * DAY);
  expect(node.now.getTime() - from).toBeLessThan(30 * DAY + 10_000);
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});

test("a run that waits for a signal for ever is an error that says so", async () => {
  const waits = workflow("waits", async (ctx) => ctx.waitFor(go));
  await using node = testNode({ programs: [waits] });
  const run = await node.start(waits);
  await expect(run.result()).rejects.toThrow(/^Nothing happens any more[\s\S]* of waits is parked on signal "go"/);
  await run.signal(go, { n: 2 });
  expect(await run.result()).toEqual({ n: 2 });
});

test("advance stops in the middle of a wait", async () => {
  const late = workflow("late", async (ctx) => (await ctx.waitFor(go, { timeout: "3d" })) ?? "nothing came");
  await using node = testNode({ programs: [late] });
  const run = await node.start(late);
  await run.untilParked();
  const from = node.now.getTime();
  await node.advance("2d");
  expect(node.now.getTime() - from).toBe(2 * DAY);
  expect((await run.status()).state).toBe("parked");
  await node.advance("2d");
  expect((await run.status()).state).toBe("completed");
  expect(await run.result()).toBe("nothing came");
});

test("what is due at the last moment of an advance happens, too", async () => {
  let ticks = 0;
  const hourly = workflow("hourly", { on: [every("1h")] }, async (ctx) => void (await ctx.step("tick", () => ++ticks)));
  await using node = testNode({ programs: [hourly] });
  const from = node.now.getTime();
  await node.advance("1d");
  expect(node.now.getTime() - from).toBe(DAY);
  await node.untilParked();
  expect(ticks).toBe(24);
});

test("a step that never ends is reported, by default before a runner ends the test after five seconds", async () => {
  expect(toMs(PATIENCE, "patience") + toMs(GIVE_UP, "giveUp")).toBeLessThan(4_500);
  const hangs = workflow("hangs", async (ctx) => ctx.step("hang", () => new Promise(() => {})));
  await using node = testNode({ programs: [hangs], patience: "50ms", giveUp: "300ms" });
  const run = await node.start(hangs);
  await expect(run.result()).rejects.toMatchObject({
    code: "TEST_STUCK",
    message: expect.stringContaining("hangs is running"),
  });
});

test("with a function that makes the programs, what they keep in memory ends with a crash", async () => {
  const made = () => {
    const cache = new Map<string, string>();
    return workflow("cached", async (ctx) => {
      await ctx.step("fill", () => void cache.set("rate", "1.1"));
      await ctx.sleep("a while", "1h");
      return ctx.step("use", () => cache.get("rate") ?? "the cache is empty");
    });
  };
  const cached = made();
  const play = async (programs: Parameters<typeof testNode>[0]["programs"]) => {
    await using node = testNode({ programs });
    const run = await node.start(cached);
    await run.untilParked();
    await node.crash();
    await node.restart();
    // The node stops when this function returns.
    return await run.result();
  };
  expect(await play([cached]), "one object for all processes").toBe("1.1");
  expect(await play(() => [made()])).toBe("the cache is empty");
});

test("a crash loses the step that was under way, and the restart makes it again", async () => {
  const calls: number[] = [];
  let hang = true;
  const order = workflow("order", async (ctx) => {
    await ctx.step("reserve", () => calls.push(1));
    await ctx.step("charge", async ({ attempt }) => {
      calls.push(attempt + 1);
      if (hang) await new Promise(() => {});
      return "charged";
    });
    return calls.length;
  });
  await using node = testNode({ programs: [order], patience: "20ms" });
  const run = await node.start(order);
  const crashed = run.result();
  crashed.catch(() => {});
  await node.advance("1ms");
  expect(calls).toEqual([1, 2]);
  await node.crash();
  await expect(crashed).rejects.toThrow(/node is not running: call restart\(\)/);
  hang = false;
  await node.restart();
  expect(await run.result()).toBe(3);
  expect(calls).toEqual([1, 2, 2]);
  expect((await run.status()).epoch).toBe(2);
});

test("retries, step timeouts and child runs pass in virtual time", async () => {
  const child = workflow("child", async (ctx, n: number) => {
    await ctx.sleep("a while", "2h");
    return n + 1;
  });
  const parent = workflow("parent", async (ctx) => {
    const flaky = await ctx.step("flaky", { retry: { attempts: 5, delay: "10m" } }, ({ attempt }) => {
      if (attempt < 4) throw new Error("not yet");
      return attempt;
    });
    const slow = await ctx
      .step("slow", { timeout: "30s", retry: 1 }, () => new Promise<string>(() => {}))
      .catch((error: Error) => error.name);
    return [flaky, slow, await ctx.child(child, 1)] as const;
  });
  await using node = testNode({ programs: [parent, child], patience: "20ms" });
  const run = await node.start(parent);
  expect(await run.result()).toEqual([4, "StepTimeout", 2]);
});

test("a program that no node has is named", async () => {
  const here = workflow("here", async () => 1);
  const elsewhere = workflow("elsewhere", async () => 1);
  await using node = testNode({ programs: [here] });
  const run = await node.start(elsewhere);
  await expect(run.result()).rejects.toMatchObject({ code: "TEST_STUCK" });
  await expect(run.result()).rejects.toThrow(/elsewhere waits for a node with this program/);
});

test("code that waits for something else is named", async () => {
  const odd = workflow("odd", async () => new Promise<void>(() => {}));
  await using node = testNode({ programs: [odd], giveUp: "200ms" });
  const run = await node.start(odd);
  await expect(run.result()).rejects.toThrow(/of odd is running: its code waits for something/);
});

test("real work in a step is waited for, and time stays", async () => {
  const real = workflow("real", async (ctx) =>
    ctx.step("fetch", { timeout: "1s" }, () => new Promise<string>((resolve) => setTimeout(resolve, 50, "got it"))),
  );
  await using node = testNode({ programs: [real] });
  const from = node.now.getTime();
  expect(await (await node.start(real)).result()).toBe("got it");
  expect(node.now.getTime() - from).toBeLessThan(1_000);
});

test.each([
  ["short leases", { timing: { lease: "100ms", renewEvery: "20ms", housekeeping: "10ms", pollMax: "50ms" } }],
  ["a lone node", { flow: { claiming: false } }],
  ["slow loops", { timing: { lease: "2h", housekeeping: "10m", pollInterval: "1h", pollMax: "1h" } }],
] as const)("time skips with %s", async (_name, settings) => {
  const nap = workflow("nap", async (ctx) => {
    for (const n of [1, 2, 3]) await ctx.sleep(`nap ${n}`, "7d");
    return ctx.step("end", () => "end");
  });
  await using node = testNode({ programs: [nap], ...settings });
  const run = await node.start(nap);
  expect(await run.result()).toBe("end");
});

test("stop ends with a step that never ends", async () => {
  const hangs = workflow("hangs", async (ctx) => ctx.step("for ever", () => new Promise<void>(() => {})));
  const node = testNode({ programs: [hangs], patience: "20ms" });
  const run = await node.start(hangs);
  await node.advance("1s");
  await node.stop();
  expect((await run.status()).state).not.toBe("completed");
});
