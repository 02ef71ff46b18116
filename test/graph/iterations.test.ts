// The limit of iterations counts visits when they begin, in the order of the journal: the same with and without a crash.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { deferred } from "../harness/deferred.js";
import { onBothStores } from "../workflow/node-suite.js";

const S = state<{ log: string[] }>({ log: append() });
const limit = { timeout: "10s" } as const;
const soon = { timeout: 8_000, interval: 15 };
const over = { state: "failed", cause: { code: "ITERATION_LIMIT" } };

onBothStores((bench) => {
  test("visits inside of subgraphs side by side count one by one against the limit of iterations", async () => {
    let visits = 0;
    const visit = () => {
      visits++;
    };
    const around = graph("around", {
      state: S,
      start: "again",
      nodes: { again: visit },
      edges: { again: { to: ["again", "end"], choose: (): "again" | "end" => "again" } },
    });
    const inside = S.subgraph(around, { input: (s) => s, apply: () => {} });
    const crowd = graph("crowd", {
      state: S,
      start: "plan",
      nodes: { plan: visit, a: inside, b: inside, c: inside },
      edges: { plan: { to: ["a", "b", "c"] }, a: "end", b: "end", c: "end" },
      limits: { iterations: 9 },
    });
    const node = await bench.open({ programs: [crowd] });
    const run = await node.start(crowd, { log: [] });
    await expect(run.result(limit)).rejects.toMatchObject(over);
    // The plan and the three subgraphs are four of the nine.
    expect(visits).toBe(9 - 3);
    await run.retry();
    await expect(run.result(limit)).rejects.toMatchObject(over);
    expect(visits).toBe(9 - 3);
  });

  test.each([
    [5, "without a crash"],
    [5, "with a crash"],
    [6, "without a crash"],
    [6, "with a crash"],
  ])("a limit of %i iterations holds for a node next to a subgraph of three, %s", async (iterations, how) => {
    const ran: string[] = [];
    const [there, go] = [deferred<void>(), deferred<void>()];
    let dies = how === "with a crash";
    const visit = (name: string) => () => {
      ran.push(name);
    };
    const three = graph("three", {
      state: S,
      start: "n1",
      nodes: { n1: visit("n1"), n2: visit("n2"), n3: visit("n3") },
      edges: { n1: "n2", n2: "n3", n3: "end" },
    });
    const next = graph(`next-to-${iterations}-${dies}`, {
      state: S,
      start: "plan",
      nodes: {
        plan: visit("plan"),
        sub: S.subgraph(three, { input: (s) => s, apply: () => {} }),
        slow: async () => {
          there.resolve();
          await (dies ? new Promise(() => {}) : go.promise);
          ran.push("slow");
        },
      },
      edges: { plan: { to: ["sub", "slow"] }, sub: "end", slow: "end" },
      limits: { iterations },
    });
    const owner = await bench.open({ programs: [next], timing: { lease: 300, renewEvery: 250 } });
    const { id } = await owner.start(next, { log: [] });
    const ended = async () =>
      (await bench.store.journal.read(id))!.entries.some(({ kind, name }) => name === "sub" && kind.startsWith("node"));
    await there.promise;
    await expect.poll(ended, soon).toBe(true);
    go.resolve();
    if (dies) {
      dies = false;
      await owner.stop({ grace: 10 });
    }
    const node = how === "with a crash" ? await bench.open({ programs: [next] }) : owner;
    const result = node.run(id).result(limit);
    if (iterations === 6) expect(await result).toEqual({ log: [] });
    else await expect(result).rejects.toMatchObject(over);
    expect(ran).toEqual(iterations === 6 ? ["plan", "n1", "n2", "n3", "slow"] : ["plan", "n1", "n2", "slow"]);
  });
});
