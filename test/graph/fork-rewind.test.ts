// Runs that are forked, rewound and compared.

import { afterAll, beforeAll, expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { createClient, PermanentError } from "../../src/index.js";
import type { Node } from "../../src/node/create-node.js";
import { open as openVirtual } from "../machine/virtual-node.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Trip {
  topic: string;
  n: number;
  log: string[];
}
const S = state<Trip>({ log: append() });
const limit = { timeout: "10s" } as const;

test("a run that is cancelled in the first milliseconds of its first node is rewound to it", async () => {
  const brief = graph("brief-trip", {
    state: S,
    start: "work",
    nodes: {
      work: async (ctx) => {
        if (ctx.visit !== "1") return { log: ["worked"] };
        return new Promise<never>((_, reject) => {
          ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
        });
      },
    },
    edges: { work: "end" },
  });
  const { node, done, world } = await openVirtual([brief]);
  const run = await done(node.start(brief, { topic: "tea", n: 0, log: [] }));
  const startedAt = world.monotonicNow();
  while ((await done(run.status())).state !== "running") await world.advance(1);
  await done(run.cancel({ by: "ben" }));
  await expect(done(run.result())).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  expect(world.monotonicNow() - startedAt).toBeLessThan(50);
  await done(node.graphs.rewind(brief, run.id, { to: "work", by: "ann", why: "after all" }));
  expect((await done(run.result())).log).toEqual(["worked"]);
});

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

  test("completed, cancelled and paused runs are rewound; a live one is not", async () => {
    const wish = { to: "gate", by: "ann", why: "once more" } as const;
    const gated = graph("stopped-trip", {
      state: S,
      start: "plan",
      nodes: {
        plan: () => ({ n: 1, log: ["planned"] }),
        gate: S.approval({ ask: (s) => s.topic, apply: (_s, d) => ({ log: [d.outcome] }) }),
      },
      edges: { plan: "gate", gate: "end" },
    });
    const owner = await bench.open({ programs: [gated] });
    const run = await owner.start(gated, { topic: "tea", n: 0, log: [] });
    const openGates = async () => (await owner.approvals.list()).rows.filter(({ runId }) => runId === run.id);
    const atGate = (nth: string) => expect.poll(async () => (await openGates())[0]?.nth, { timeout: 8_000 }).toBe(nth);
    await atGate("1");
    await expect.poll(async () => (await run.status()).state, { timeout: 8_000 }).toBe("parked");
    await expect(owner.graphs.rewind(gated, run.id, wish)).rejects.toMatchObject({
      code: "REWIND_REFUSED",
      state: "parked",
    });
    await run.pause();
    await owner.graphs.rewind(gated, run.id, wish);
    await atGate("2");
    await run.cancel({ by: "ben" });
    await expect(run.result(limit)).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    await owner.graphs.rewind(gated, run.id, wish);
    await atGate("3");
    await run.decide("gate", { choice: "denied", by: "ann", nth: 3 });
    expect((await run.result(limit)).log).toEqual(["planned", "denied"]);
    await owner.graphs.rewind(gated, run.id, { ...wish, state: { topic: "milk" } });
    await atGate("4");
    await run.decide("gate", { choice: "approved", by: "ann", nth: 4 });
    expect(await run.result(limit)).toEqual({ topic: "milk", n: 1, log: ["planned", "approved"] });
  });

  test("a run that was cancelled at work is rewound and ends; the request counts no more", async () => {
    let hasBegun = () => {};
    const begun = new Promise<void>((resolve) => (hasBegun = resolve));
    const busy = graph("busy-trip", {
      state: S,
      start: "work",
      nodes: {
        work: async (ctx) => {
          if (ctx.visit !== "1") return { log: ["worked"] };
          hasBegun();
          await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
          throw ctx.signal.reason;
        },
      },
      edges: { work: "end" },
    });
    const owner = await bench.open({ programs: [busy] });
    const run = await owner.start(busy, { topic: "tea", n: 0, log: [] });
    await begun;
    await run.cancel({ by: "ben" });
    await expect(run.result(limit)).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(entries.filter(({ kind }) => kind === "take").map(({ key }) => key)).toEqual(["cancel"]);
    await owner.graphs.rewind(busy, run.id, { to: "work", by: "ann", why: "after all" });
    expect((await run.result(limit)).log).toEqual(["worked"]);
  });

  test("a run is rewound and forked to a node inside a subgraph, with the state it had there", async () => {
    const seen: string[] = [];
    const inner = graph("inner-trip", {
      state: S,
      start: "one",
      nodes: {
        one: (ctx, s) => {
          seen.push(`${ctx.runId} ${ctx.node}:${ctx.visit}`);
          return { n: s.n + 1, log: [`one ${s.topic}`] };
        },
        two: (ctx, s) => {
          seen.push(`${ctx.runId} ${ctx.node}:${ctx.visit}`);
          return { log: [`two ${s.topic} ${s.n}`] };
        },
      },
      edges: { one: { to: ["one", "two"], choose: (s) => (s.n < 2 ? "one" : "two") }, two: "end" },
    });
    const sub = S.subgraph(inner, { input: (s) => ({ ...s, log: [] }), apply: (_s, { log }) => ({ log }) });
    const outer = graph("outer-trip", {
      state: S,
      start: "plan",
      nodes: {
        plan: () => ({ log: ["planned"] }),
        both: S.parallel({ deep: sub, flat: () => ({ log: ["flat"] }) }),
        deep: sub,
      },
      edges: { plan: "both", both: "deep", deep: "end" },
    });
    const owner = await bench.open({ programs: [outer, inner] });
    const run = await owner.start(outer, { topic: "tea", n: 0, log: [] });
    const deep = ["one tea", "one tea", "two tea 2"];
    expect((await run.result(limit)).log).toEqual(["planned", ...deep, "flat", ...deep]);
    const then = await owner.graphs.state(outer, run.id, { at: "deep/one:1.2" });
    expect(then).toMatchObject({ position: "deep:1", inner: { "deep:1": { n: 1, log: ["one tea"] } } });
    const of = (id: string, from: number) =>
      seen
        .filter((line) => line.startsWith(id))
        .map((line) => line.slice(id.length + 1))
        .slice(from);
    await owner.graphs.rewind(outer, run.id, { to: "deep/one:1.2", by: "ann", why: "milk", state: { topic: "milk" } });
    expect((await run.result(limit)).log).toEqual(["planned", ...deep, "flat", "one tea", "one milk", "two milk 2"]);
    expect(of(run.id, 6)).toEqual(["deep/one:2.2", "deep/two:2.1"]);
    await owner.graphs.rewind(outer, run.id, { to: "both/deep/two", by: "ann", why: "again", state: { topic: "oat" } });
    expect((await run.result(limit)).log).toEqual(["planned", "one tea", "one tea", "two oat 2", "flat", ...deep]);
    expect(of(run.id, 8)).toEqual(["both/deep/two:2.1.1", "deep/one:3.1", "deep/one:3.2", "deep/two:3.1"]);
    const fork = await owner.graphs.fork(outer, run.id, { from: "deep/one:2.2", state: { topic: "rye" } });
    expect((await fork.result(limit)).log).toEqual(["planned", ...deep, "flat", "one tea", "one rye", "two rye 2"]);
    const inherited = (await owner.graphs.history(fork.id)).map(({ position }) => position);
    expect(inherited).toEqual(["plan:1", "both:1", "deep:1", "deep:2"]);
    await expect(owner.graphs.fork(outer, run.id, { from: "deep/one:9.9" })).rejects.toMatchObject({
      code: "POSITION_UNKNOWN",
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
