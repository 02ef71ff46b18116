// Runs that are forked, rewound and compared.

import { afterAll, beforeAll, expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { createClient, PermanentError } from "../../src/index.js";
import type { Node } from "../../src/node/create-node.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Trip {
  topic: string;
  n: number;
  log: string[];
}
const S = state<Trip>({ log: append() });
const limit = { timeout: "10s" } as const;

onBothStores((bench) => {
  const ran: string[] = [];
  let broken = true;
  const trip = graph("trip", {
    state: S,
    init: (topic: string) => ({ topic, n: 0, log: [] }),
    start: "plan",
    nodes: {
      plan: async (ctx, s) => {
        ran.push(`${ctx.runId} ${ctx.node}:${ctx.visit}`);
        ctx.spend("tokens", 10);
        return { n: s.n + 1, log: [`plan ${s.topic}`] };
      },
      search: async (ctx, s) => {
        ran.push(`${ctx.runId} ${ctx.node}:${ctx.visit}`);
        return { log: [`search ${s.topic} ${s.n}`] };
      },
      write: S.node({ retry: 1 }, async (ctx, s) => {
        ran.push(`${ctx.runId} ${ctx.node}:${ctx.visit}`);
        if (broken && s.topic === "bad") throw new PermanentError("no words");
        return { log: [`write ${s.topic}`] };
      }),
    },
    edges: {
      plan: "search",
      search: { to: ["plan", "write"], choose: (s) => (s.n < 2 ? "plan" : "write") },
      write: "end",
    },
    limits: { budgets: { tokens: 1000 } },
    snapshotEvery: 2,
  });
  let node: Node;
  beforeAll(async () => {
    node = await bench.open({ programs: [trip] });
  });
  afterAll(() => node.stop());
  const of = (id: string) => ran.filter((line) => line.startsWith(id)).map((line) => line.slice(id.length + 1));

  test("a fork begins at a node of the old run, with the state it had then or another", async () => {
    const old = await node.start(trip, "tea");
    const whole = await old.result(limit);
    expect(whole.log).toEqual(["plan tea", "search tea 1", "plan tea", "search tea 2", "write tea"]);
    const same = await node.graphs.fork(trip, old.id, { from: "search:2", by: "ann" });
    expect(await same.result(limit)).toEqual(whole);
    expect(of(same.id)).toEqual(["search:2", "write:1"]);
    const other = await node.graphs.fork(trip, old.id, { from: "search:2", state: { topic: "coffee" } });
    expect((await other.result(limit)).log).toEqual([
      "plan tea",
      "search tea 1",
      "plan tea",
      "search coffee 2",
      "write coffee",
    ]);
    expect(of(old.id)).toHaveLength(5);
    const again = await node.graphs.fork(trip, other.id, { from: "write" });
    expect((await again.result(limit)).log.at(-1)).toBe("write coffee");
    expect((await node.graphs.history(again.id)).map(({ position }) => position)).toEqual([
      "plan:1",
      "search:1",
      "plan:2",
      "search:2",
      "write:1",
    ]);
  });

  test("a fork from a node that the run has not reached, or of an unknown run, is rejected", async () => {
    const old = await node.start(trip, "tea");
    await old.result(limit);
    await expect(node.graphs.fork(trip, old.id, { from: "search:3" })).rejects.toMatchObject({
      code: "POSITION_UNKNOWN",
    });
    const nobody = "00000000-0000-7000-8000-000000000000";
    await expect(node.graphs.fork(trip, nobody, { from: "plan" })).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
  });

  test("two runs are compared node by node: where they parted, and what each changed", async () => {
    const old = await node.start(trip, "tea");
    await old.result(limit);
    const other = await node.graphs.fork(trip, old.id, { from: "search:2", state: { topic: "coffee" } });
    await other.result(limit);
    const client = createClient({ store: bench.store });
    const { common, steps } = await client.graphs.diff(old.id, other.id);
    expect(common).toBe(3);
    expect(steps.map(({ same, left }) => [left!.position, same])).toEqual([
      ["plan:1", true],
      ["search:1", true],
      ["plan:2", true],
      ["search:2", false],
      ["write:1", false],
    ]);
    expect(steps[3]!.fields).toEqual([{ field: "log", left: ["search tea 2"], right: ["search coffee 2"] }]);
    expect((await client.graphs.diff(old.id, old.id)).common).toBe(5);
  });

  test("a failed run is rewound to a node, records the actor and the reason, and continues under fresh visits", async () => {
    broken = true;
    const run = await node.start(trip, "bad");
    await expect(run.result(limit)).rejects.toMatchObject({ cause: { message: "no words" } });
    await node.graphs.rewind(trip, run.id, {
      to: "search:2",
      by: "ann",
      why: "the topic was bad",
      state: { topic: "good" },
    });
    expect((await run.result(limit)).log).toEqual([
      "plan bad",
      "search bad 1",
      "plan bad",
      "search good 2",
      "write good",
    ]);
    expect(of(run.id)).toEqual(["plan:1", "search:1", "plan:2", "search:2", "write:1", "search:3", "write:2"]);
    const { entries } = (await bench.store.journal.read(run.id))!;
    const retried = entries.find(({ kind }) => kind === "retried")!;
    expect(retried.name).toBe("ann");
    expect(JSON.parse(retried.payload!.data).rewind).toMatchObject({ to: "search:2", why: "the topic was bad" });
    const keys = entries.filter(({ kind }) => kind === "node").map(({ name, key }) => `${name}:${key}`);
    expect(new Set(keys).size).toBe(keys.length);
    expect(await node.graphs.position(run.id)).toEqual({ position: "end", state: "completed" });
  });

  test("a run that fails again can be rewound again, also to before the last snapshot", async () => {
    broken = true;
    const run = await node.start(trip, "bad");
    await expect(run.result(limit)).rejects.toThrow();
    await node.graphs.rewind(trip, run.id, { to: "plan:1", by: "ann", why: "from the top" });
    await expect(run.result(limit)).rejects.toThrow();
    await node.graphs.rewind(trip, run.id, { to: "plan:1", by: "ben", why: "once more", state: { topic: "good" } });
    expect((await run.result(limit)).log).toEqual([
      "plan good",
      "search good 1",
      "plan good",
      "search good 2",
      "write good",
    ]);
    expect(of(run.id).slice(-5)).toEqual(["plan:5", "search:5", "plan:6", "search:6", "write:3"]);
  });

  test("a plain retry tries the failed node again under the same key, and nothing else", async () => {
    broken = true;
    const run = await node.start(trip, "bad");
    await expect(run.result(limit)).rejects.toThrow();
    broken = false;
    await node.dead.retry([run.id]);
    expect((await run.result(limit)).log.at(-1)).toBe("write bad");
    expect(of(run.id).slice(-2)).toEqual(["write:1", "write:1"]);
  });

  test("a run retried from the start begins with its input and other idempotency keys", async () => {
    broken = true;
    const run = await node.start(trip, "bad");
    await expect(run.result(limit)).rejects.toThrow();
    broken = false;
    await node.dead.retry([run.id], { from: "start" });
    expect((await run.result(limit)).log).toHaveLength(5);
    expect(of(run.id)).toHaveLength(10);
  });

  test("a run that has not failed cannot be rewound", async () => {
    const run = await node.start(trip, "tea");
    await run.result(limit);
    await expect(node.graphs.rewind(trip, run.id, { to: "plan", by: "ann", why: "?" })).rejects.toMatchObject({
      code: "REWIND_REFUSED",
      state: "completed",
    });
  });

  test("a run of another graph is neither forked nor rewound as this one", async () => {
    const other = graph("other-trip", { state: S, start: "plan", nodes: { plan: () => {} }, edges: { plan: "end" } });
    const run = await node.start(trip, "tea");
    await run.result(limit);
    await expect(node.graphs.fork(other, run.id, { from: "plan" })).rejects.toThrow(
      'a run of "trip", not of "other-trip"',
    );
    const wish = { to: "plan", by: "ann", why: "?" } as const;
    await expect(node.graphs.rewind(other, run.id, wish)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  test("a run is forked while it works and while it waits, and both continue", async () => {
    const gated = graph("gated-trip", {
      state: S,
      start: "plan",
      nodes: {
        plan: () => ({ n: 1, log: ["planned"] }),
        each: S.map(
          (s) => [s.topic, "and"],
          (_ctx, item) => item,
          { into: "log" },
        ),
        gate: S.approval({ ask: (s) => s.topic, apply: (_s, d) => ({ log: [d.outcome] }) }),
      },
      edges: { plan: "each", each: "gate", gate: "end" },
      limits: { timeout: "1h" },
    });
    const owner = await bench.open({ programs: [gated] });
    const old = await owner.start(gated, { topic: "tea", n: 0, log: [] });
    await expect.poll(async () => (await old.status()).state, { timeout: 8_000 }).toBe("parked");
    const [gate, each] = await Promise.all([
      owner.graphs.fork(gated, old.id, { from: "gate", state: { topic: "milk" } }),
      owner.graphs.fork(gated, old.id, { from: "each", state: { topic: "milk" } }),
    ]);
    for (const [run, by] of [
      [old, "ann"],
      [gate, "ben"],
      [each, "cat"],
    ] as const) {
      await expect.poll(async () => (await run.status()).state, { timeout: 8_000 }).toBe("parked");
      await run.decide("gate", { choice: run === old ? "denied" : "approved", by });
    }
    expect((await old.result(limit)).log).toEqual(["planned", "tea", "and", "denied"]);
    expect((await gate.result(limit)).log).toEqual(["planned", "tea", "and", "approved"]);
    expect((await each.result(limit)).log).toEqual(["planned", "milk", "and", "approved"]);
    await owner.stop();
  });

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
    const run = await owner.start(parts, { topic: "", n: 0, log: [] });
    await expect(run.result(limit)).rejects.toMatchObject({ cause: { message: "right is bad" } });
    expect(did.sort()).toEqual(["item 0", "left", "one"]);
    isBad = false;
    did.length = 0;
    await run.retry();
    expect((await run.result(limit)).log).toEqual(["left", "right", "item 0", "item 1", "item 2", "one", "two"]);
    expect(did.sort()).toEqual(["item 1", "item 2", "right", "two"]);
    await owner.stop();
  });

  test("a state too large to be stored is not forked or rewound, and the error names the reason", async () => {
    const big = graph("big-trip", {
      state: S,
      start: "fill",
      nodes: {
        fill: S.map(
          () => [1, 2, 3],
          () => "x".repeat(500_000),
          { into: "log" },
        ),
        last: S.node({ retry: 1 }, (_ctx, s) => {
          if (s.topic === "bad") throw new PermanentError("no");
          return { n: s.log.length };
        }),
      },
      edges: { fill: "last", last: "end" },
      output: (s) => s.n,
      snapshotEvery: 1,
    });
    const owner = await bench.open({ programs: [big] });
    const run = await owner.start(big, { topic: "bad", n: 0, log: [] });
    await expect(run.result(limit)).rejects.toMatchObject({ cause: { message: "no" } });
    const quarantined = { state: "quarantined", cause: { code: "LIMIT_EXCEEDED" } };
    const forked = await owner.graphs.fork(big, run.id, { from: "last", state: { topic: "good" } });
    await expect(forked.result(limit)).rejects.toMatchObject(quarantined);
    await owner.graphs.rewind(big, run.id, { to: "last", by: "ann", why: "?", state: { topic: "good" } });
    await expect(run.result(limit)).rejects.toMatchObject(quarantined);
    expect(
      await owner.graphs.fork(big, run.id, { from: "fill", state: { topic: "good" } }).then((r) => r.result(limit)),
    ).toBe(3);
    await owner.stop();
  });
});
