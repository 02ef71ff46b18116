// Following a graph's run from outside: which node begins, ends, is retried and reports, in whatever process it runs.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { createClient, PermanentError, type RunEvent } from "../../src/index.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Trip {
  n: number;
  log: string[];
}
const S = state<Trip>({ log: append() });

onBothStores((bench) => {
  test("watch yields nodes that begin and end, completed items, progress and failures that take their edge", async () => {
    const inner = graph("watched-inner", {
      state: state<{ n: number }>(),
      start: "only",
      nodes: { only: (_ctx, s) => ({ n: s.n + 1 }) },
      edges: { only: "end" },
    });
    const watched = graph("watched", {
      state: S,
      start: "plan",
      nodes: {
        plan: async (ctx) => {
          await ctx.progress("half");
          return { n: 1 };
        },
        each: S.map(
          () => ["a"],
          (_ctx, item) => item,
          { into: "log" },
        ),
        sub: S.subgraph(inner, { input: (s) => ({ n: s.n }), apply: (_s, out) => ({ n: out.n }) }),
        bad: S.node({ retry: { attempts: 2, delay: 1 } }, async (ctx) => {
          throw ctx.attempt === 1 ? new Error("once") : new PermanentError("twice");
        }),
        mend: () => {},
      },
      edges: { plan: "each", each: "sub", sub: "bad", bad: { to: "end", failed: "mend" }, mend: "end" },
    });
    const node = await bench.open({ programs: [watched] });
    const { id } = await node.start(watched, { n: 0, log: [] });
    const run = createClient({ store: bench.store }).run(id);
    const seen: string[] = [];
    for await (const event of run.watch()) seen.push(line(event));
    expect(seen).toEqual([
      "started",
      "node plan:1 begun",
      'progress "half"',
      'node plan:1 done {"n":1} → each:1',
      "node each:1 begun",
      'item each 1.0 done "a"',
      "node each:1 done null → sub:1",
      "node sub:1 begun",
      "node sub/only:1.1 begun",
      'node sub/only:1.1 done {"n":2} → end',
      'node sub:1 done {"n":2} → bad:1',
      "node bad:1 begun",
      "node bad:1 tried once",
      "node bad:1 failed twice → mend:1",
      "node mend:1 begun",
      "node mend:1 done null → end",
      "ended completed",
    ]);
    const later: string[] = [];
    const { seq } = await run.status();
    for await (const event of run.watch({ after: seq - 2 })) later.push(line(event));
    expect(later).toEqual(seen.slice(-2));
    await node.stop();
  });
});

function line(event: RunEvent): string {
  if (event.type === "node") {
    const what = `node ${event.name}:${event.visit} ${event.state}`;
    if (event.state === "begun") return what;
    const next = event.next === null ? "" : ` → ${event.next}`;
    return `${what} ${event.state === "done" ? JSON.stringify(event.value) : event.error.message}${next}`;
  }
  if (event.type === "item")
    return `item ${event.name} ${event.key} ${event.state} ${event.state === "done" ? JSON.stringify(event.value) : ""}`;
  if (event.type === "progress") return `progress ${JSON.stringify(event.value)}`;
  return event.type === "ended" ? `ended ${event.state}` : event.type;
}
