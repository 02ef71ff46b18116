// `ctx.race`: the first call wins, the others are withdrawn, at the same place in every replay.

import { expect, test } from "vitest";
import { signal } from "../../src/replay/signal.js";
import { testNode } from "../../src/testing/index.js";
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
