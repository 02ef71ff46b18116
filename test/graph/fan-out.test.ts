// Edges to several nodes, which run side by side, and breakpoints before and after nodes.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { createClient, PermanentError } from "../../src/index.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Trip {
  topic: string;
  log: string[];
}
const S = state<Trip>({ log: append() });
const limit = { timeout: "10s" } as const;
const soon = { timeout: 8_000, interval: 15 };
const begin: Trip = { topic: "tea", log: [] };
const say = (word: string) => async () => ({ log: [word] });
const slowly = (word: string, ms: number) => async () => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return { log: [word] };
};

onBothStores((bench) => {
  test("an edge leads to several nodes side by side; their updates count in its order, and they meet once", async () => {
    const seen: string[] = [];
    const spread = graph("spread", {
      state: S,
      start: "plan",
      nodes: {
        plan: say("plan"),
        slow: slowly("slow", 30),
        quick: (_ctx, s) => {
          seen.push(s.log.join());
          return { log: ["quick"] };
        },
        join: say("join"),
        other: say("other"),
        last: say("last"),
      },
      edges: {
        plan: { to: ["slow", "quick"] },
        slow: "join",
        quick: { to: ["join", "other"], choose: (s) => (s.topic === "tea" ? (["join", "other"] as const) : "join") },
        join: "last",
        other: "end",
        last: "end",
      },
    });
    const node = await bench.open({ programs: [spread] });
    const run = await node.start(spread, begin);
    expect((await run.result(limit)).log).toEqual(["plan", "slow", "quick", "join", "other", "last"]);
    expect(seen).toEqual(["plan"]);
    const events: string[] = [];
    for await (const event of run.watch())
      if (event.type === "node") events.push(`${event.name}:${event.visit} ${event.state}`);
    expect(events.filter((line) => line.endsWith("begun"))).toEqual(
      ["plan", "slow", "quick", "join", "other", "last"].map((name) => `${name}:1 begun`),
    );
    expect(events.indexOf("join:1 begun")).toBeGreaterThan(events.indexOf("slow:1 done"));
    const visits = await node.graphs.history(run.id);
    expect(visits.map(({ position, next }) => `${position} ${next}`)).toEqual([
      "plan:1 slow:1,quick:1",
      "slow:1 join:1",
      "quick:1 join:1,other:1",
      "join:1 last:1",
      "other:1 end",
      "last:1 end",
    ]);
    expect(await node.graphs.position(run.id)).toMatchObject({ position: "end" });
    expect((await node.graphs.state(spread, run.id, { at: "join" })).state.log).toEqual(["plan", "slow", "quick"]);
    expect(spread.toMermaid({ position: "slow:1,quick:1" })).toMatch(/class n1,n2 here/);
  });

  test("a node goes to several; one that fails leaves the others recorded, and a retry runs it alone", async () => {
    const ran: string[] = [];
    let broken = true;
    const going = graph("going-on", {
      state: S,
      start: "a",
      nodes: {
        a: (ctx) => ctx.goto("b", "c"),
        b: () => {
          ran.push("b");
          return { log: ["b"] };
        },
        c: S.node({ retry: 1 }, () => {
          ran.push("c");
          if (broken) throw new PermanentError("broken");
          return { log: ["c"] };
        }),
      },
      edges: { a: { to: ["b", "c", "end"], choose: (s) => (s.topic === "tea" ? "end" : "b") }, b: "end", c: "end" },
    });
    const node = await bench.open({ programs: [going] });
    const run = await node.start(going, begin);
    await expect(run.result(limit)).rejects.toMatchObject({ cause: { message: "broken" } });
    expect(await node.graphs.position(run.id)).toMatchObject({ position: "b:1,c:1" });
    broken = false;
    await node.dead.retry([run.id]);
    expect((await run.result(limit)).log).toEqual(["b", "c"]);
    expect(ran).toEqual(["b", "c", "c"]);
  });

  test("a run is taken over in the middle of a fan-out, and rewound to one of its nodes", async () => {
    const ran: string[] = [];
    const mid = graph("mid", {
      state: S,
      start: "a",
      nodes: {
        a: say("a"),
        gate: S.approval({ ask: () => "Go?", apply: (_s, d) => ({ log: [d.outcome] }) }),
        b: () => {
          ran.push("b");
          return { log: ["b"] };
        },
        end1: say("x"),
      },
      edges: { a: { to: ["gate", "b"] }, gate: "end1", b: "end1", end1: "end" },
      snapshotEvery: 1,
    });
    const node = await bench.open({ programs: [mid] });
    const run = await node.start(mid, begin);
    await expect.poll(async () => (await run.status()).state, soon).toBe("parked");
    await node.stop();
    const other = await bench.open({ programs: [mid] });
    await other.run(run.id).decide("gate", { choice: "approved", by: "ann" });
    expect(await other.run(run.id).result(limit)).toMatchObject({ log: ["a", "approved", "b", "x"] });
    expect(ran).toEqual(["b"]);
    await other.graphs.rewind(mid, run.id, { to: "b", by: "ann", why: "again" });
    await expect.poll(async () => (await other.run(run.id).status()).state, soon).toBe("parked");
    expect(await other.graphs.position(run.id)).toMatchObject({ position: "gate:2,b:2" });
    await other.run(run.id).decide("gate", { choice: "denied", by: "ann", nth: 2 });
    expect(await other.run(run.id).result(limit)).toMatchObject({ log: ["a", "denied", "b", "x"] });
    expect(ran).toEqual(["b", "b"]);
  });

  const inner = graph("deep", {
    state: S,
    start: "one",
    nodes: { one: say("one"), two: say("two") },
    edges: { one: "two", two: "end" },
  });
  const stepped = graph("stepped", {
    state: S,
    start: "a",
    nodes: {
      a: say("a"),
      b: S.subgraph(inner, { input: () => begin, apply: (_s, { log }) => ({ log }) }),
      c: say("c"),
    },
    edges: { a: "b", b: "c", c: "end" },
  });
  const kinds = async (runId: string) =>
    (await bench.store.journal.read(runId))!.entries
      .filter(({ kind }) => kind === "node" || kind === "breakpoint")
      .map(({ kind, name }) => (kind === "node" ? name : `stop ${name}`));
  const paused = (run: { status(): Promise<{ state: string }> }) =>
    expect.poll(async () => (await run.status()).state, soon).toBe("paused");

  test("a run pauses at the breakpoints it was started with, before, after and inside, and resumes on any node", async () => {
    const node = await bench.open({ programs: [stepped] });
    const run = await node.graphs.start(stepped, begin, {
      key: "stepped",
      breakpoints: { before: ["b/two"], after: ["a", "c"] },
    });
    await paused(run);
    expect(await kinds(run.id)).toEqual(["a", "stop a"]);
    expect(await node.graphs.state(stepped, run.id)).toMatchObject({ position: "b:1", state: { log: ["a"] } });
    await node.stop();
    const other = await bench.open({ programs: [stepped] });
    const again = await other.graphs.start(stepped, begin, { key: "stepped", breakpoints: {} });
    expect(again.id).toBe(run.id);
    await again.resume({ by: "ann" });
    await expect.poll(() => kinds(run.id), soon).toEqual(["a", "stop a", "b/one", "stop b/two"]);
    await paused(again);
    await again.resume();
    await expect.poll(async () => (await kinds(run.id)).at(-1), soon).toBe("stop c");
    await paused(again);
    expect(await other.graphs.position(run.id)).toMatchObject({ position: "end" });
    await again.resume();
    expect((await again.result(limit)).log).toEqual(["a", "one", "two", "c"]);
    const { value: started } = await again.watch().next();
    expect(started).toMatchObject({ type: "started", input: begin });
  });

  test("breakpoints are set and cleared on a live run", async () => {
    const node = await bench.open({ programs: [stepped] });
    const run = await node.graphs.start(stepped, begin, { breakpoints: { before: ["a"] } });
    await paused(run);
    expect(await node.graphs.position(run.id)).toMatchObject({ position: "a:1" });
    const client = createClient({ store: bench.store });
    await client.graphs.breakRun(run.id, { before: ["b", "c"] }, "ann");
    await run.resume();
    await expect.poll(() => kinds(run.id), soon).toEqual(["stop a", "a", "stop b"]);
    await paused(run);
    await node.graphs.breakpoints(stepped, run.id, {});
    await run.resume();
    expect((await run.result(limit)).log).toEqual(["a", "one", "two", "c"]);
    const unknown = { before: ["nowhere"] } as never;
    await expect(node.graphs.breakpoints(stepped, run.id, unknown)).rejects.toThrow(/no node "nowhere"/);
    await expect(node.graphs.breakpoints(stepped, run.id, {})).rejects.toMatchObject({ code: "RUN_ENDED" });
    await expect(node.start(stepped, { "~start": {}, input: begin } as never)).rejects.toThrow(/graphs.start/);
  });
});
