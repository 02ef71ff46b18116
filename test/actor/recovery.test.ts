// An episode whose node is gone resumes, restarts or fails, by the policy of its expectation.

import { expect, test } from "vitest";
import { actor } from "../../src/actor/actor.js";
import { expectation } from "../../src/actor/expectation.js";
import { strategy } from "../../src/actor/strategy.js";
import type { Recovery } from "../../src/kernel/run/recovery.js";
import { onBothStores } from "../workflow/node-suite.js";

onBothStores((bench) => {
  let names = 0;
  /** Hangs in its second call, behind a checkpoint, on the first node that gets there. */
  function scene(recovery?: Recovery) {
    const done: string[] = [];
    let hangs = true;
    const moves = strategy({
      steps: {
        first: () => void done.push("first"),
        second: async () => {
          done.push("second");
          if (hangs) await new Promise<never>(() => {});
        },
      },
      init: () => {
        done.push("init");
        return { at: 0 };
      },
      next: ({ at }) => {
        if (at === 0) return { do: "call", name: "first" };
        if (at === 1) return { do: "checkpoint" };
        if (at === 2) return { do: "call", name: "second" };
        return { do: "done", result: done.length };
      },
      handle: ({ at }) => ({ at: at + 1 }),
    });
    const policy = recovery === undefined ? {} : { recovery };
    const one = actor(`recovers-${++names}`, { concurrency: 1, expectations: { run: expectation(policy, moves) } });
    const lost = async () => {
      const node = await bench.open({ programs: [one], timing: { lease: 300, renewEvery: 250 } });
      const run = await node.start(one.expectations.run, undefined as never);
      await expect.poll(() => done.includes("second"), { timeout: 10_000 }).toBe(true);
      // Its work ignores the abort: the run is left to its lease, as after a crash.
      await node.stop({ grace: 10 });
      hangs = false;
      return run;
    };
    return { one, done, lost };
  }

  test("resume, the default: the episode continues from its checkpoint, and no recorded step is executed again", async () => {
    const { one, done, lost } = scene();
    const run = await lost();
    const other = await bench.open({ programs: [one] });
    await other.run(run.id).result({ timeout: "20s" });
    expect(done).toEqual(["init", "first", "second", "second"]);
    await other.stop();
  });

  test("restart: the episode begins with a fresh init, as the next generation of the same run", async () => {
    const { one, done, lost } = scene("restart");
    const run = await lost();
    const other = await bench.open({ programs: [one] });
    await other.run(run.id).result({ timeout: "20s" });
    expect(done).toEqual(["init", "first", "second", "init", "first", "second"]);
    expect((await run.status()).generation).toBe(1);
    await other.stop();
  });

  test("fail: the episode ends as orphaned, with the reason in its journal, and frees its place", async () => {
    const { one, done, lost } = scene("fail");
    const run = await lost();
    const other = await bench.open({ programs: [one] });
    await expect(other.run(run.id).result({ timeout: "20s" })).rejects.toMatchObject({
      state: "failed",
      cause: { code: "ORPHANED" },
    });
    expect(done).toEqual(["init", "first", "second"]);
    const next = await other.start(one.expectations.run, undefined as never);
    await next.result({ timeout: "10s" });
    await other.stop();
  });

  test("a graceful stop hands the episode over under any policy: nothing fails, nothing is executed twice", async () => {
    for (const recovery of ["resume", "restart", "fail"] as const) {
      const done: string[] = [];
      let release = () => {};
      const one = actor(`handed-${++names}`, {
        expectations: {
          run: expectation({ recovery }, async (ctx) => {
            await ctx.step("a", async () => {
              done.push("a");
              await new Promise<void>((resolve) => (release = resolve));
            });
            await ctx.step("b", () => void done.push("b"));
          }),
        },
      });
      const node = await bench.open({ programs: [one] });
      const run = await node.start(one.expectations.run);
      await expect.poll(() => done.length, { timeout: 10_000 }).toBe(1);
      const stopped = node.stop({ grace: "5s" });
      release();
      await stopped;
      const other = await bench.open({ programs: [one] });
      await other.run(run.id).result({ timeout: "10s" });
      expect(done).toEqual(["a", "b"]);
      await other.stop();
    }
  });
});
