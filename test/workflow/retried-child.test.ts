// A child that failed and was retried: the parent takes its new result, whenever it looks.

import { expect, test } from "vitest";
import { signal } from "../../src/replay/signal.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

onBothStores((bench) => {
  test.for(["last", "start"] as const)(
    "a child retried from %s before its parent has looked: the parent takes the new result",
    async (from) => {
      let broken = true;
      const child = workflow(`child-${from}`, async (ctx) => {
        await ctx.step("try", { retry: 1 }, () => {
          if (broken) throw new Error("not yet");
        });
      });
      const parent = workflow(`parent-${from}`, async (ctx) =>
        ctx.child(child, undefined).then(
          () => "fine",
          (error: Error) => error.message,
        ),
      );
      const first = await bench.open({ programs: [parent] });
      const run = await first.start(parent);
      const state = async (id: string) => (await first.run(id).status()).state;
      await expect.poll(() => state(run.id)).toBe("parked");
      await first.stop();
      const { runs } = await bench.store.runs.list({ env: "default", program: child.name }, { limit: 2 });
      const childId = runs[0]!.id;
      const second = await bench.open({ programs: [child] });
      await expect.poll(() => state(childId)).toBe("failed");
      broken = false;
      expect(await second.dead.retry([childId], { from })).toEqual([{ outcome: "retried" }]);
      await second.run(childId).result({ timeout: "5s" });
      const third = await bench.open({ programs: [parent] });
      expect(await third.run(run.id).result({ timeout: "5s" })).toBe("fine");
      await Promise.all([second.stop(), third.stop()]);
    },
  );

  test("a child that was retried and is parked when its parent looks: the parent waits for its new end", async () => {
    let broken = true;
    const go = signal<{ n: number }>("go");
    const child = workflow("waits-again", async (ctx) => {
      await ctx.step("try", { retry: 1 }, () => {
        if (broken) throw new Error("not yet");
      });
      return (await ctx.waitFor(go)).n;
    });
    const parent = workflow("of-one-that-waits", async (ctx) => ctx.child(child, undefined));
    const first = await bench.open({ programs: [parent] });
    const run = await first.start(parent);
    const record = async (id: string) => (await bench.store.runs.get(id))!;
    await expect.poll(async () => (await record(run.id)).state).toBe("parked");
    await first.stop();
    const { runs } = await bench.store.runs.list({ env: "default", program: child.name }, { limit: 2 });
    const childId = runs[0]!.id;
    const second = await bench.open({ programs: [child] });
    await expect.poll(async () => (await record(childId)).state).toBe("failed");
    broken = false;
    await second.dead.retry([childId]);
    await expect.poll(async () => (await record(childId)).state).toBe("parked");
    const { epoch } = await record(run.id);
    const third = await bench.open({ programs: [parent] });
    // It has read that its child failed, and found that it is at work again.
    await expect.poll(() => record(run.id)).toMatchObject({ state: "parked", epoch: epoch + 1 });
    await second.run(childId).signal(go, { n: 7 });
    expect(await third.run(run.id).result({ timeout: "10s" })).toBe(7);
    await Promise.all([second.stop(), third.stop()]);
  });

  test("a parent retried after its child takes the child's new result, and those of the others as they were", async () => {
    let broken = true;
    const child = workflow("one-of-three", async (ctx, n: number) =>
      ctx.step("try", { retry: 1 }, () => {
        if (broken && n === 2) throw new Error("not yet");
        return n * 10;
      }),
    );
    const parent = workflow("of-three", async (ctx) => ctx.children(child, [1, 2, 3]));
    const node = await bench.open({ programs: [parent, child] });
    const run = await node.start(parent);
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { message: "not yet" } });
    // Not retried yet: the parent finds the same failure.
    await node.dead.retry([run.id]);
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { message: "not yet" } });
    broken = false;
    const { runs } = await bench.store.runs.list(
      { env: "default", program: child.name, states: ["failed"] },
      { limit: 9 },
    );
    expect(await node.dead.retry(runs.map(({ id }) => id))).toEqual([{ outcome: "retried" }]);
    await node.dead.retry([run.id]);
    expect(await run.result({ timeout: "5s" })).toEqual([10, 20, 30]);
    await node.stop();
  });
});
