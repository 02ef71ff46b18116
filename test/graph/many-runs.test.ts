// Many runs of graphs, and one run that many nodes could execute: no run waits for a poll, and only the holder works on a run.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { signal } from "../../src/index.js";
import { deferred } from "../harness/deferred.js";
import { onBothStores } from "../workflow/node-suite.js";

const S = state<{ n: number; log: string[] }>({ log: append() });
const begin = { n: 0, log: [] };
const limit = { timeout: "20s" } as const;

onBothStores((bench) => {
  test("short runs follow each other without a poll between them, also in one slot", async () => {
    const instant = graph("instant", { state: S, start: "a", nodes: { a: () => ({ n: 1 }) }, edges: { a: "end" } });
    // At the pace of the poll, ten of them would take ten minutes.
    const node = await bench.open({
      programs: [instant],
      concurrency: 1,
      flow: { prefetch: 0 },
      timing: { pollInterval: "1m", pollMax: "1m" },
    });
    const runs = await node.startMany(
      instant,
      Array.from({ length: 10 }, () => ({ input: begin })),
    );
    for (const { run } of runs as { run: { result(of: typeof limit): Promise<unknown> } }[]) {
      expect(await run.result(limit)).toMatchObject({ n: 1 });
    }
  });

  test("messages for a run in progress do not resume it on another node: one claim, one node at a time", async () => {
    const go = signal<number>("go");
    const begun = deferred<void>();
    const release = deferred<void>();
    let atWork = 0;
    let most = 0;
    const busy = graph("busy", {
      state: S,
      start: "work",
      nodes: {
        work: async () => {
          most = Math.max(most, ++atWork);
          begun.resolve();
          await release.promise;
          atWork--;
          return { log: ["work"] };
        },
        wait: S.wait(go, { apply: (_s, told) => ({ n: told ?? -1 }) }),
      },
      edges: { work: "wait", wait: "end" },
    });
    const nodes = [await bench.open({ programs: [busy] }), await bench.open({ programs: [busy] })];
    const run = await nodes[0]!.start(busy, begin);
    await begun.promise;
    for (const node of nodes) await node.run(run.id).signal(go, 7);
    // Both nodes poll for work again and again in the meantime.
    for (const node of nodes) await node.runUntilIdle({ timeout: "100ms" });
    expect(await bench.store.runs.get(run.id)).toMatchObject({ state: "running", epoch: 1 });
    release.resolve();
    expect(await run.result(limit)).toEqual({ n: 7, log: ["work"] });
    expect({ most, epoch: (await bench.store.runs.get(run.id))!.epoch }).toEqual({ most: 1, epoch: 1 });
  });
});
