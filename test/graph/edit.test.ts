// A graph run that is read and edited: its state at any visit, updates from outside, decisions with data, and nodes that choose where
// to go.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { signal } from "../../src/index.js";
import type { Node } from "../../src/node/create-node.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Draft {
  topic: string;
  words: number;
  log: string[];
}
const S = state<Draft>({ log: append() });
const limit = { timeout: "10s" } as const;
const ready = signal<undefined>("ready");
const begin: Draft = { topic: "tea", words: 0, log: [] };

onBothStores((bench) => {
  const drafts = graph("edited", {
    state: S,
    start: "plan",
    nodes: {
      plan: async (_ctx, s) => ({ log: [`plan ${s.topic}`] }),
      review: S.approval({
        ask: (s) => `Write about ${s.topic}?`,
        apply: (_s, decision) => {
          if (decision.outcome === "expired") return {};
          const { words } = (decision.data ?? { words: 1 }) as { words: number };
          return { words, log: [decision.outcome] };
        },
      }),
      write: async (_ctx, s) => ({ log: [`write ${s.topic} ${s.words}`] }),
    },
    edges: { plan: "review", review: "write", write: "end" },
    snapshotEvery: 1,
  });
  const atReview = async (node: Node) => {
    const run = await node.start(drafts, begin);
    await expect
      .poll(async () => (await run.status()).state === "parked" && (await node.graphs.position(run.id)).position, {
        timeout: 8_000,
      })
      .toBe("review:1");
    return run;
  };

  test("a decision carries structured data to the run", async () => {
    const node = await bench.open({ programs: [drafts] });
    const run = await atReview(node);
    await run.decide("review", { choice: "approved", by: "ann", data: { words: 500 } });
    expect(await run.result(limit)).toMatchObject({ words: 500, log: ["plan tea", "approved", "write tea 500"] });
  });

  test("the state is read now and as of any visit, also after the end", async () => {
    const node = await bench.open({ programs: [drafts] });
    const run = await atReview(node);
    expect(await node.graphs.state(drafts, run.id)).toEqual({
      position: "review:1",
      state: { ...begin, log: ["plan tea"] },
      inner: {},
    });
    await run.decide("review", { choice: "approved", by: "ann" });
    await run.result(limit);
    expect((await node.graphs.state(drafts, run.id, { at: "plan" })).state).toEqual(begin);
    expect((await node.graphs.state(drafts, run.id, { at: "write:1" })).state.log).toEqual(["plan tea", "approved"]);
    expect(await node.graphs.state(drafts, run.id)).toMatchObject({ position: "end", state: { words: 1 } });
    await expect(node.graphs.state(drafts, run.id, { at: "write:2" })).rejects.toMatchObject({
      code: "POSITION_UNKNOWN",
    });
  });

  test("an update from outside counts before the next node, once, and outlives the process", async () => {
    const node = await bench.open({ programs: [drafts] });
    const run = await atReview(node);
    await node.graphs.update(drafts, run.id, { topic: "coffee", log: ["edited"] }, { by: "ann" });
    await run.decide("review", { choice: "approved", by: "ann" });
    expect((await run.result(limit)).log).toEqual(["plan tea", "edited", "approved", "write coffee 1"]);
    expect((await node.graphs.state(drafts, run.id, { at: "write" })).state.topic).toBe("coffee");
    const fork = await node.graphs.fork(drafts, run.id, { from: "write" });
    expect((await fork.result(limit)).log.at(-1)).toBe("write coffee 1");
    await expect(node.graphs.update(drafts, run.id, { topic: "late" })).rejects.toMatchObject({ code: "RUN_ENDED" });
  });

  test("the next holder of the run has the update", async () => {
    const twice = graph("twice", {
      state: S,
      start: "a",
      nodes: {
        a: S.wait(ready, { apply: () => ({ log: ["a"] }) }),
        b: S.wait(ready, { apply: () => ({ log: ["b"] }) }),
        c: async (_ctx, s) => ({ log: [s.topic] }),
      },
      edges: { a: "b", b: "c", c: "end" },
    });
    const node = await bench.open({ programs: [twice] });
    const run = await node.start(twice, begin);
    await node.graphs.update(twice, run.id, { topic: "coffee" });
    await run.signal(ready);
    const isAtB = async () => (await run.status()).state === "parked" && (await node.graphs.position(run.id)).position;
    await expect.poll(isAtB, { timeout: 8_000 }).toBe("b:1");
    await node.stop();
    const other = await bench.open({ programs: [twice] });
    await other.run(run.id).signal(ready);
    expect(await other.run(run.id).result(limit)).toMatchObject({ log: ["a", "b", "coffee"] });
  });

  test("an update that a reducer refuses is recorded and dropped; the run continues", async () => {
    const node = await bench.open({ programs: [drafts] });
    const run = await atReview(node);
    await node.graphs.update(drafts, run.id, { log: 5 as never });
    await run.decide("review", { choice: "approved", by: "ann" });
    expect((await run.result(limit)).log).toEqual(["plan tea", "approved", "write tea 1"]);
    const kinds: string[] = [];
    for await (const event of run.watch()) if (event.type === "recorded") kinds.push(event.kind);
    expect(kinds).toContain("update.refused");
  });

  test("a node goes to another node than its edge leads to; an unknown one fails it", async () => {
    const going = graph("going", {
      state: S,
      start: "a",
      nodes: {
        a: S.node({ retry: 1 }, async (ctx, s) => {
          if (s.topic !== "straight") ctx.goto(s.topic === "lost" ? "nowhere" : "c");
          return { log: ["a"] };
        }),
        b: async () => ({ log: ["b"] }),
        c: async () => ({ log: ["c"] }),
      },
      edges: { a: "b", b: "c", c: "end" },
    });
    const node = await bench.open({ programs: [going] });
    const logOf = async (topic: string) =>
      (await (await node.start(going, { ...begin, topic })).result(limit).catch((error) => ({ log: String(error) })))
        .log;
    expect(await logOf("straight")).toEqual(["a", "b", "c"]);
    expect(await logOf("tea")).toEqual(["a", "c"]);
    expect(await logOf("lost")).toMatch(/no node "nowhere"; it has a, b, c, end/);
  });
});
