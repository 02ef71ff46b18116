// Calls that lose a race when their own ending is already in the journal.

import { expect, test } from "vitest";
import { signal } from "../../src/replay/signal.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";

const go = signal<string>("go");

onBothStores((bench) => {
  test("a run whose race was decided between two ended calls parks at its next wait, and can be paused", async () => {
    const races = workflow("races", async (ctx) => {
      // Due at the same moment, as after a time in which no node was up.
      const { winner } = await ctx.race({ first: ctx.sleep("first", 30), second: ctx.sleep("second", 30) });
      return `${winner} ${await ctx.waitFor(go)}`;
    });
    const node = await bench.open({ programs: [races], concurrency: 2 });
    const run = await node.start(races);
    const kinds = async () =>
      (await bench.store.journal.read(run.id))!.entries.map(({ kind, name }) => `${kind} ${name}`);
    await expect.poll(kinds).toContain("sleep second");
    await expect.poll(async () => (await run.status()).state).toBe("parked");
    expect(await run.pause()).toEqual({ outcome: "paused" });
    await run.resume();
    await run.signal(go, "now");
    expect(await run.result({ timeout: "10s" })).toBe("first now");
  });
});
