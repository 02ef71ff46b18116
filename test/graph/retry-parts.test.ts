// A retried run whose node has parts: only what failed is done again.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { PermanentError } from "../../src/index.js";
import { onBothStores } from "../workflow/node-suite.js";

const S = state<{ log: string[] }>({ log: append() });
const limit = { timeout: "10s" } as const;

onBothStores((bench) => {
  test("a retry does what failed inside a map, a branch and a subgraph, and nothing that was done", async () => {
    const did: string[] = [];
    let isBad = true;
    const work = (what: string, fails: boolean) => {
      if (fails && isBad) throw new PermanentError(`${what} is bad`);
      did.push(what);
      return what;
    };
    const inner = graph("inner-parts", {
      state: S,
      start: "one",
      nodes: { one: () => ({ log: [work("one", false)] }), two: () => ({ log: [work("two", true)] }) },
      edges: { one: "two", two: "end" },
    });
    const parts = graph("parts", {
      state: S,
      start: "fan",
      nodes: {
        fan: S.parallel({
          left: () => ({ log: [work("left", false)] }),
          right: () => ({ log: [work("right", true)] }),
          items: S.map(
            () => [0, 1, 2],
            (_ctx, i) => work(`item ${i}`, i === 1),
            { into: "log", limit: 1 },
          ),
          inside: S.subgraph(inner, { input: (s) => s, apply: (_s, last) => ({ log: last.log }) }),
        }),
      },
      edges: { fan: "end" },
    });
    const owner = await bench.open({ programs: [parts] });
    const run = await owner.start(parts, { log: [] });
    await expect(run.result(limit)).rejects.toMatchObject({ cause: { message: "right is bad" } });
    expect(did.sort()).toEqual(["item 0", "left", "one"]);
    isBad = false;
    did.length = 0;
    await run.retry();
    expect((await run.result(limit)).log).toEqual(["left", "right", "item 0", "item 1", "item 2", "one", "two"]);
    expect(did.sort()).toEqual(["item 1", "item 2", "right", "two"]);
    await owner.stop();
  });
});
