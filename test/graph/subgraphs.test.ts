// A graph inside another whose run is cancelled, or whose code changes.

import { afterAll, beforeAll, expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { createNode } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { quarantinedWith } from "../harness/quarantined.js";
import { QUICK } from "../workflow/node-suite.js";

const { url, schema } = testSchema();
const store = openPostgres(url, { schema });
const limit = { timeout: "20s" } as const;
beforeAll(() => store.migrate());
afterAll(() => store.close());

const S = state<{ n: number; log: string[] }>({ log: append() });
const begin = { n: 0, log: [] };

test("a node inside a subgraph is aborted with its run", async () => {
  let isThere = () => {};
  const there = new Promise<void>((resolve) => (isThere = resolve));
  let tellAborted = (_code: unknown) => {};
  const aborted = new Promise<unknown>((resolve) => (tellAborted = resolve));
  const inner = graph("cancelled-inner", {
    state: S,
    start: "hang",
    nodes: {
      hang: async (ctx) => {
        ctx.signal.addEventListener("abort", () => tellAborted((ctx.signal.reason as { code?: string }).code));
        isThere();
        await new Promise<never>(() => {});
      },
    },
    edges: { hang: "end" },
  });
  const outer = graph("cancelled", {
    state: S,
    start: "sub",
    nodes: { sub: S.subgraph(inner, { input: (s) => s, apply: () => {} }) },
    edges: { sub: { to: "end", failed: "sub" } },
  });
  const node = await createNode({ store, ...QUICK, programs: [outer] });
  const run = await node.start(outer, begin);
  await there;
  await run.cancel({ by: "ann" });
  expect(await aborted).toBe("RUN_OVER");
  await expect(run.result(limit)).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  await node.stop();
});

test("a subgraph that lost the node a run is at is no failure for an edge: quarantined, and rewound out of it", async () => {
  const I = state<{ n: number }>();
  const inner = graph("shrunk-inner", {
    state: I,
    start: "count",
    nodes: {
      count: (_ctx, s) => ({ n: s.n + 1 }),
      gate: I.approval({ ask: () => "?", apply: () => {} }),
    },
    edges: { count: "gate", gate: "end" },
  });
  const smaller = graph("shrunk-inner", {
    state: I,
    start: "count",
    nodes: { count: (_ctx, s) => ({ n: s.n + 1 }) },
    edges: { count: "end" },
  });
  const around = (sub: typeof inner | typeof smaller | null) =>
    graph("shrunk", {
      state: S,
      start: "first",
      nodes: {
        first: () => ({ log: ["first"] }),
        sub: sub
          ? S.subgraph(sub as typeof smaller, { input: () => ({ n: 0 }), apply: () => ({ n: 1 }) })
          : () => ({ n: 2 }),
        rescue: () => ({ log: ["rescued"] }),
      },
      edges: { first: "sub", sub: { to: "end", failed: "rescue" }, rescue: "end" },
    });
  const old = await createNode({ store, ...QUICK, programs: [around(inner)] });
  const runs = await Promise.all([1, 2].map(() => old.start(around(inner), begin)));
  for (const run of runs) await expect.poll(async () => (await run.status()).state).toBe("parked");
  await old.stop();
  for (const [i, other] of [smaller, null].entries()) {
    const node = await createNode({ store, ...QUICK, programs: [around(other)] });
    const run = node.run<{ n: number; log: string[] }>(runs[i]!.id);
    await run.decide("sub/gate", { choice: "approved", by: "ann", nth: "1.1" });
    await expect.poll(() => quarantinedWith(store, run.id), { timeout: 10_000 }).toBe("GRAPH_CHANGED");
    await node.graphs.rewind(around(other), run.id, { to: "first", by: "ann", why: "the gate is gone" });
    expect(await run.result(limit)).toEqual({ n: i + 1, log: ["first"] });
    await node.stop();
  }
});

const go = signal<string>("go");
const rung = () => ({ log: ["rung"] });
const BELLS = [
  ["an hour", S.wait(go, { timeout: "1h", apply: rung })],
  ["ever", S.wait(go, { apply: rung })],
] as const;
test.each(BELLS)("a subgraph begins while a node next to it waits for a signal, for %s", async (long, bell) => {
  const name = `waits-${long.replace(" ", "-")}`;
  const inner = graph(`${name}-inner`, {
    state: S,
    start: "work",
    nodes: { work: async () => ({ log: ["worked"] }) },
    edges: { work: "end" },
  });
  const outer = graph(name, {
    state: S,
    start: "fan",
    nodes: {
      fan: S.parallel({ bell, sub: S.subgraph(inner, { input: (s) => s, apply: (_s, out) => ({ log: out.log }) }) }),
    },
    edges: { fan: "end" },
  });
  // Slow enough for the wait to begin while the subgraph's first entry is written.
  const commit: typeof store.runs.commit = async (commits) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return store.runs.commit(commits);
  };
  const slow = { ...store, runs: { ...store.runs, commit } };
  const node = await createNode({ store: slow, programs: [outer], ...QUICK });
  const run = await node.start(outer, begin);
  const entries = async () => (await store.journal.read(run.id))!.entries.map((entry) => entry.name);
  await expect.poll(entries, { timeout: 10_000 }).toContain("fan/sub/work");
  await run.signal(go, "now");
  expect((await run.result(limit)).log).toEqual(expect.arrayContaining(["worked", "rung"]));
  await node.stop();
});
