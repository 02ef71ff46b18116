// Graphs from start to end, on both stores: edges, cycles, maps, branches, subgraphs, failures, limits.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { PermanentError, signal } from "../../src/index.js";
import type { Node } from "../../src/node/create-node.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Trip {
  n: number;
  log: string[];
  ok?: boolean;
  note?: string;
}
const S = state<Trip>({ log: append() });
const begin = (n = 0): Trip => ({ n, log: [] });
const limit = { timeout: "10s" } as const;

onBothStores((bench) => {
  let node: Node;
  const open = async (...programs: Parameters<typeof bench.open>[0]["programs"]) => {
    node = await bench.open({ programs });
    return node;
  };

  test("nodes run in the order of their edges, and each is recorded once", async () => {
    const line = graph("line", {
      state: S,
      start: "a",
      nodes: {
        a: async () => ({ log: ["a"] }),
        b: () => ({ log: ["b"] }),
        c: async (_ctx, s) => ({ log: ["c"], n: s.log.length }),
      },
      edges: { a: "b", b: "c", c: "end" },
    });
    await open(line);
    const run = await node.start(line, begin());
    expect(await run.result(limit)).toEqual({ n: 2, log: ["a", "b", "c"] });
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(entries.map(({ kind, name, key }) => [kind, name, key])).toEqual([
      ["start", "line", null],
      ["begun", "", null],
      ["node", "a", "1"],
      ["node", "b", "1"],
      ["node", "c", "1"],
      ["completed", "", null],
    ]);
    await node.stop();
  });

  test("an edge chooses by the state, and a cycle visits a node again under another key", async () => {
    const keys: string[] = [];
    const loop = graph("loop", {
      state: S,
      start: "add",
      nodes: {
        add: async (ctx, s) => {
          keys.push(ctx.idempotencyKey.slice(ctx.runId.length));
          return { n: s.n + 1, log: [`${ctx.node}:${ctx.visit}`] };
        },
      },
      edges: { add: { to: ["add", "end"], choose: (s) => (s.n < 3 ? "add" : "end") } },
    });
    await open(loop);
    const run = await node.start(loop, begin());
    expect(await run.result(limit)).toEqual({ n: 3, log: ["add:1", "add:2", "add:3"] });
    expect(keys).toEqual([":0:node:add:1", ":0:node:add:2", ":0:node:add:3"]);
    await node.stop();
  });

  test("a map works on its items with bounded concurrency, and returns the results in their order", async () => {
    let atOnce = 0;
    let most = 0;
    const mapped = graph("mapped", {
      state: S,
      start: "each",
      nodes: {
        each: S.map(
          (s) => Array.from({ length: s.n }, (_, i) => i),
          async (ctx, item) => {
            most = Math.max(most, ++atOnce);
            await new Promise((resolve) => setTimeout(resolve, (7 - item) * 3));
            atOnce--;
            return `${item}/${ctx.index}/${ctx.visit}`;
          },
          { into: "log", limit: 3 },
        ),
      },
      edges: { each: "end" },
    });
    await open(mapped);
    const run = await node.start(mapped, begin(7));
    expect((await run.result(limit)).log).toEqual(Array.from({ length: 7 }, (_, i) => `${i}/${i}/1.${i}`));
    expect(most).toBe(3);
    const none = await node.start(mapped, begin(0));
    expect((await none.result(limit)).log).toEqual([]);
    await node.stop();
  });

  test("branches run side by side, and their updates are applied in the order in which they were written", async () => {
    let release = () => {};
    const second = new Promise<void>((resolve) => (release = resolve));
    const both = graph("both", {
      state: S,
      start: "fan",
      nodes: {
        fan: S.parallel({
          slow: async () => {
            await second;
            return { log: ["slow"], note: "slow" };
          },
          quick: async () => {
            release();
            return { log: ["quick"], note: "quick" };
          },
          items: S.map(
            () => [1, 2],
            (_ctx, item) => `item ${item}`,
            { into: "log" },
          ),
        }),
        after: (_ctx, s) => ({ n: s.log.length }),
      },
      edges: { fan: "after", after: "end" },
    });
    await open(both);
    const run = await node.start(both, begin());
    expect(await run.result(limit)).toEqual({ n: 4, note: "quick", log: ["slow", "quick", "item 1", "item 2"] });
    await node.stop();
  });

  test("a subgraph has its own state and its nodes are in the same journal", async () => {
    const inner = graph("inner", {
      state: state<{ left: number; sum: number }>(),
      init: (left: number) => ({ left, sum: 0 }),
      start: "step",
      nodes: { step: async (_ctx, s) => ({ left: s.left - 1, sum: s.sum + s.left }) },
      edges: { step: { to: ["step", "end"], choose: (s) => (s.left > 0 ? "step" : "end") } },
      output: (s) => s.sum,
    });
    const outer = graph("outer", {
      state: S,
      start: "sub",
      nodes: {
        sub: S.subgraph(inner, { input: (s) => s.n, apply: (_s, sum) => ({ n: sum, log: [`sum ${sum}`] }) }),
        twice: S.parallel({
          a: S.subgraph(inner, { input: () => 1, apply: (_s, sum) => ({ log: [`a ${sum}`] }) }),
          b: S.subgraph(inner, { input: () => 2, apply: (_s, sum) => ({ log: [`b ${sum}`] }) }),
        }),
      },
      edges: { sub: "twice", twice: "end" },
    });
    await open(outer);
    const run = await node.start(outer, begin(3));
    expect(await run.result(limit)).toEqual({ n: 6, log: ["sum 6", "a 1", "b 3"] });
    const { entries } = (await bench.store.journal.read(run.id))!;
    const nodes = entries.filter(({ kind }) => kind === "node").map(({ name, key }) => `${name} ${key}`);
    expect(nodes.slice(0, 4)).toEqual(["sub/step 1.1", "sub/step 1.2", "sub/step 1.3", "sub 1"]);
    expect(nodes.slice(4).sort()).toEqual(
      [
        "twice/a/step 1.1.1",
        "twice/a 1.1",
        "twice/b/step 1.1.1",
        "twice/b/step 1.1.2",
        "twice/b 1.1",
        "twice 1",
      ].sort(),
    );
    await node.stop();
  });

  test("a node is retried, and one that fails for good takes its failure edge with its error", async () => {
    const attempts: number[] = [];
    const risky = graph("risky", {
      state: S,
      start: "flaky",
      nodes: {
        flaky: S.node({ retry: { attempts: 3, delay: 5 } }, async (ctx) => {
          attempts.push(ctx.attempt);
          if (ctx.attempt < 3) throw new Error("not yet");
          return { log: ["flaky"] };
        }),
        broken: S.node({ retry: { attempts: 2, delay: 5 } }, async () => {
          throw new PermanentError("no use");
        }),
        repair: (ctx) => ({ log: [`${ctx.failure!.node}: ${ctx.failure!.error.message}`] }),
      },
      edges: { flaky: "broken", broken: { to: "end", failed: "repair" }, repair: "end" },
    });
    await open(risky);
    const run = await node.start(risky, begin());
    expect((await run.result(limit)).log).toEqual(["flaky", "broken: no use"]);
    expect(attempts).toEqual([1, 2, 3]);
    await node.stop();
  });

  test("a node without a failure edge fails its run, and an item that fails fails its node after the running items", async () => {
    const done: number[] = [];
    const sad = graph("sad", {
      state: S,
      start: "each",
      nodes: {
        each: S.map(
          () => [0, 1, 2, 3],
          async (_ctx, item) => {
            if (item === 1) throw new PermanentError("one");
            await new Promise((resolve) => setTimeout(resolve, 20));
            done.push(item);
            return String(item);
          },
          { into: "log", limit: 2 },
        ),
      },
      edges: { each: "end" },
    });
    await open(sad);
    const run = await node.start(sad, begin());
    await expect(run.result(limit)).rejects.toMatchObject({ state: "failed", cause: { message: "one" } });
    expect(done).toEqual([0]);
    await node.stop();
  });

  test("a node that takes longer than its timeout is aborted, and nothing of it keeps running", async () => {
    let aborted = 0;
    let calls = 0;
    const slow = graph("slow", {
      state: S,
      start: "wait",
      nodes: {
        wait: S.node({ timeout: 30, retry: { attempts: 2, delay: 5 } }, ({ signal }) => {
          calls++;
          return new Promise((_, reject) => {
            signal.addEventListener("abort", () => {
              aborted++;
              reject(signal.reason);
            });
          });
        }),
      },
      edges: { wait: "end" },
    });
    await open(slow);
    const run = await node.start(slow, begin());
    await expect(run.result(limit)).rejects.toMatchObject({ cause: { code: "STEP_TIMEOUT" } });
    expect([calls, aborted]).toEqual([2, 2]);
    await node.stop();
  });

  test("a linear graph of as many nodes as the limit allows completes, and one more node ends the run as a loop", async () => {
    const nodes = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`n${i}`, () => ({})]));
    const edges = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`n${i}`, i === 4 ? "end" : `n${i + 1}`]));
    const five = graph("five", { state: S, start: "n0", nodes, edges, limits: { iterations: 5 } });
    const endless = graph("endless", {
      state: S,
      start: "again",
      nodes: { again: (_ctx, s) => ({ n: s.n + 1 }) },
      edges: { again: { to: ["again", "end"], choose: (s) => (s.n < 0 ? "end" : "again") } },
      limits: { iterations: 5 },
    });
    await open(five, endless);
    await (await node.start(five, begin())).result(limit);
    const run = await node.start(endless, begin());
    await expect(run.result(limit)).rejects.toMatchObject({ state: "failed", cause: { code: "ITERATION_LIMIT" } });
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(entries.filter(({ kind }) => kind === "node")).toHaveLength(5);
    await node.stop();
  });

  test("a run that exceeds its budget ends, even when the node catches the error or has a failure edge", async () => {
    const spender = graph("spender", {
      state: S,
      start: "think",
      nodes: {
        think: async (ctx, s) => {
          try {
            ctx.spend("tokens", 40);
          } catch {
            return { note: "went on" };
          }
          return { n: s.n + 1 };
        },
        sorry: () => ({ note: "sorry" }),
      },
      edges: {
        think: { to: ["think", "sorry"], choose: (s) => (s.n < 0 ? "sorry" : "think"), failed: "sorry" },
        sorry: "end",
      },
      limits: { budgets: { tokens: 100 } },
    });
    const blunt = graph("blunt", {
      state: S,
      start: "think",
      nodes: {
        think: async (ctx) => {
          ctx.spend("tokens", 101);
        },
        sorry: () => ({ note: "sorry" }),
      },
      edges: { think: { to: "end", failed: "sorry" }, sorry: "end" },
      limits: { budgets: { tokens: 100 } },
    });
    await open(spender, blunt);
    for (const program of [spender, blunt]) {
      const run = await node.start(program, begin());
      await expect(run.result(limit)).rejects.toMatchObject({ state: "failed", cause: { code: "BUDGET_EXCEEDED" } });
    }
    await node.stop();
  });

  test("an edge that returns an unknown target fails the run and is not retried", async () => {
    let calls = 0;
    const lost = graph("lost", {
      state: S,
      start: "a",
      nodes: {
        a: () => {
          calls++;
        },
      },
      edges: { a: { to: ["a", "end"], choose: () => "b" as "a" } },
    });
    await open(lost);
    const run = await node.start(lost, begin());
    await expect(run.result(limit)).rejects.toMatchObject({ cause: { code: "EDGE_NOT_TAKEN" } });
    expect(calls).toBe(1);
    await node.stop();
  });

  test("a state that a node mutates in place is rejected: the change would be lost with the process", async () => {
    const vandal = graph("vandal", {
      state: S,
      start: "a",
      nodes: {
        a: S.node({ retry: 1 }, (_ctx, s) => {
          (s.log as string[]).push("mine");
        }),
      },
      edges: { a: "end" },
    });
    await open(vandal);
    const run = await node.start(vandal, { n: 0, log: ["first"] });
    await expect(run.result(limit)).rejects.toMatchObject({ cause: { name: "TypeError" } });
    await node.stop();
  });

  test("a wait is ended by its signal, also by one that came before, and by its timeout when none comes", async () => {
    const woken = signal<string>("woken");
    const door = graph("door", {
      state: S,
      start: "pause",
      nodes: {
        pause: async () => {},
        first: S.wait(woken, { apply: (_s, by) => ({ log: [by] }) }),
        second: S.wait(woken, { timeout: 40, apply: (_s, by) => ({ log: [by ?? "nobody"] }) }),
      },
      edges: { pause: "first", first: "second", second: "end" },
    });
    await open(door);
    const run = await node.start(door, begin(), { delay: 30 });
    await run.signal(woken, "early");
    expect((await run.result(limit)).log).toEqual(["early", "nobody"]);
    const both = await node.start(door, begin());
    await both.signal(woken, "one");
    await both.signal(woken, "two");
    expect((await both.result(limit)).log).toEqual(["one", "two"]);
    await node.stop();
  });
});
