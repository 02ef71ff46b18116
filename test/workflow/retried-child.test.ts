// A child that failed and was opened again before its parent had looked: the parent hears of the failure it was told of.

import { expect, test } from "vitest";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

onBothStores((bench) => {
  test.for([
    ["last", "not yet"],
    ["start", "The child run ended failed."],
  ] as const)("a child that failed and was retried from %s does not break its parent", async ([from, message]) => {
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
    expect(await third.run(run.id).result({ timeout: "5s" })).toBe(message);
    await Promise.all([second.stop(), third.stop()]);
  });
});
