// `ctx.race`: the first call wins, the others are withdrawn, at the same place in every replay.

import { expect, test } from "vitest";
import { signal } from "../../src/replay/signal.js";
import { testNode } from "../../src/testing/index.js";
import type { AnyWorkflow } from "../../src/workflow/context.js";
import { workflow } from "../../src/workflow/workflow.js";

const paid = signal<number>("paid");

test("a lost wait takes no message: the next wait gets it", async () => {
  const dunning = workflow("dunning", async (ctx) => {
    const first = await ctx.race({ paid: ctx.waitFor(paid), late: ctx.sleep("late", "3d") });
    if (first.winner === "paid") return first.value;
    await ctx.step("remind", () => "reminded");
    const second = await ctx.race({ paid: ctx.waitFor(paid), late: ctx.sleep("late", "3d") });
    return second.winner === "paid" ? second.value : "never";
  });
  await using node = await testNode({ programs: [dunning] });
  const run = await node.start(dunning);
  await run.untilParked();
  await node.advance("4d");
  await run.signal(paid, 7);
  expect(await run.result()).toBe(7);
  const { entries } = (await node.store.journal.read(run.id))!;
  // A plain wait costs one commit; a race of it against a sleep, one more for the sleep: none for the race.
  expect(entries.filter(({ kind }) => kind === "sleep.begun")).toHaveLength(2);
  expect(entries.map(({ kind }) => kind)).not.toContain("race");
});

/** Calls to the store by operation, from the start of a run to its end, without those that the node makes by the clock. */
async function callsOf(program: AnyWorkflow): Promise<Readonly<Record<string, number>>> {
  await using node = await testNode({ programs: [program] });
  const calls: Record<string, number> = {};
  const off = node.on("store.called", ({ operation }) => {
    if (!BY_THE_CLOCK.test(operation)) calls[operation] = (calls[operation] ?? 0) + 1;
  });
  const run = await node.start(program);
  await run.untilParked();
  await run.signal(paid, 7);
  await run.result();
  off();
  return calls;
}
const BY_THE_CLOCK = /^(nodes|statistics|schedules|machines|limits)\.|housekeep|cleanUp|claim$|renew|watch|peek/;

test("a race of a plain wait sends no statement more than the wait", async () => {
  const plain = workflow("plain", async (ctx) => ctx.waitFor(paid));
  const raced = workflow("raced", async (ctx) => (await ctx.race({ paid: ctx.waitFor(paid) })).value);
  const wait = await callsOf(plain);
  expect(wait).toMatchObject({ "runs.commit": 3 });
  expect(await callsOf(raced)).toEqual(wait);
  // Against a sleep: what the sleep itself costs next to a plain wait, whichever is asked for first.
  const slept = workflow("slept", async (ctx) => (await Promise.all([ctx.waitFor(paid), ctx.sleep("late", 1)]))[0]);
  const late = workflow(
    "late",
    async (ctx) => (await ctx.race({ paid: ctx.waitFor(paid), late: ctx.sleep("late", "3d") })).value,
  );
  expect((await callsOf(late))["runs.commit"]).toBeLessThanOrEqual((await callsOf(slept))["runs.commit"]!);
});

test("a lost child is cancelled, a lost step aborted, a lost question closed; all the same after a crash", async () => {
  const aborted: string[] = [];
  const child = workflow("slow", async (ctx) => ctx.sleep("long", "30d"));
  const all = workflow("all", async (ctx) => {
    const question = ctx.approval("ship", { ask: "Ship it?" });
    const { winner } = await ctx.race({
      paid: ctx.waitFor(paid),
      child: ctx.child(child, undefined),
      question,
      step: ctx.step("watch", async ({ signal: stop }) => {
        await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve()));
        aborted.push((stop.reason as { code: string }).code);
      }),
      soon: ctx.sleep("soon", "1s"),
    });
    const lost = await question.catch((error: { code: string }) => error.code);
    await ctx.sleep("parks", "1h");
    // The message is here: this child is not started, and the number of the next call is not that of its child.
    const again = await ctx.race({ here: ctx.waitFor(paid), child: ctx.child(child, undefined) });
    const started = ctx.child(child, undefined, { onParentEnd: "abandon" });
    await ctx.race({ started, later: ctx.sleep("later", "2h") });
    return { winner, lost, again: again.winner };
  });
  await using node = await testNode({ programs: [all, child] });
  const run = await node.start(all);
  await node.advance("2s");
  await run.untilParked();
  await expect(run.decide("ship", { choice: "approved", by: "ann" })).rejects.toThrow();
  await run.signal(paid, 1);
  await node.crash();
  await node.restart();
  expect(await run.result()).toEqual({ winner: "soon", lost: "RACE_LOST", again: "here" });
  expect(aborted).toEqual(["RACE_LOST"]);
  const started = (await node.store.journal.read(run.id))!.entries.filter(({ kind }) => kind === "enqueue");
  expect(started).toHaveLength(2);
  await expect(node.run(started[0]!.key!).result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
});

test("a branch that fails first ends the race with its error; other promises are refused", async () => {
  const breaks = workflow("breaks", async (ctx) => {
    const failed = await ctx
      .race({
        bad: ctx.step("bad", { retry: 1 }, () => Promise.reject(new Error("bad"))),
        late: ctx.sleep("late", "1d"),
      })
      .catch((error: Error) => error.message);
    const refused = await (async () => ctx.race({ other: Promise.resolve(1) }))().catch(
      (error: { code: string }) => error.code,
    );
    return [failed, refused];
  });
  await using node = await testNode({ programs: [breaks] });
  const run = await node.start(breaks);
  expect(await run.result()).toEqual(["bad", "INVALID_INPUT"]);
});

test("the next wait after one that lost a Promise.race is reported, whether or not the message came in between", async () => {
  const lost = (early: boolean) =>
    workflow(early ? "early" : "late", async (ctx) => {
      await Promise.race([ctx.waitFor(paid), ctx.sleep("short", "1s")]);
      if (early) await ctx.sleep("the message comes", "1s");
      return ctx.race({ paid: ctx.waitFor(paid), never: ctx.sleep("never", "1h") });
    });
  const programs = [lost(true), lost(false)] as const;
  await using node = await testNode({ programs: [...programs] });
  const reported: string[] = [];
  node.on("run.wait_lost", ({ runId, signal }) => void reported.push(`${runId} ${signal}`));
  for (const program of programs) {
    const run = await node.start(program);
    await run.untilParked();
    await node.advance("1s");
    await run.untilParked();
    await run.signal(paid, 1);
    expect((await run.result()).winner).toBe("never");
    expect(reported).toEqual([`${run.id} paid`]);
    reported.length = 0;
  }
});

test("parallel waits, waits one after another and races of the context are not reported", async () => {
  const many = workflow("many", async (ctx) => {
    const both = await Promise.all([ctx.waitFor(paid), ctx.waitFor(paid)]);
    const loop = async () => [await ctx.waitFor(paid), await ctx.step("use", () => 0), await ctx.waitFor(paid)];
    await ctx.race({ paid: ctx.waitFor(paid), short: ctx.sleep("short", "1s") });
    return [...both, ...(await loop())];
  });
  await using node = await testNode({ programs: [many] });
  const reported: unknown[] = [];
  node.on("run.wait_lost", (lost) => void reported.push(lost));
  const run = await node.start(many);
  for (const n of [1, 2]) await run.signal(paid, n);
  await run.untilParked();
  await node.advance("2s");
  for (const n of [3, 4]) await run.signal(paid, n);
  expect(await run.result()).toEqual([1, 2, 3, 0, 4]);
  expect(reported).toEqual([]);
});
