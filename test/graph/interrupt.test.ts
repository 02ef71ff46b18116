// A node's function that asks a person: it parks the run, is called again with the answer, and continues.

import { expect, test } from "vitest";
import { z } from "zod";
import { append, graph, state } from "../../src/graph/index.js";
import type { Node } from "../../src/node/create-node.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Draft {
  topic: string;
  log: string[];
}
const S = state<Draft>({ log: append() });
const limit = { timeout: "10s" } as const;
const soon = { timeout: 8_000, interval: 15 };
const begin: Draft = { topic: "tea", log: [] };
const City = z.object({ city: z.string() });

onBothStores((bench) => {
  const calls: string[] = [];
  const asking = graph("asking", {
    state: S,
    start: "write",
    nodes: {
      write: async (ctx, s) => {
        calls.push(`${ctx.runId} write`);
        const { city } = await ctx.interrupt({ ask: `Where to drink ${s.topic}?`, answer: City, to: "ann" });
        const { outcome } = await ctx.interrupt({ ask: `${city}, really?`, choices: ["yes", "no"] });
        return { log: [`${city} ${outcome}`] };
      },
    },
    edges: { write: "end" },
  });
  const open = async (node: Node, runId: string) =>
    (await node.approvals.list()).rows.filter((one) => one.runId === runId);
  const asked = async (node: Node, runId: string, text: string) => {
    await expect.poll(async () => (await open(node, runId)).map(({ ask }) => ask), soon).toEqual([text]);
    return (await open(node, runId))[0]!;
  };

  test("the function resumes with a typed value, also on another node", async () => {
    const node = await bench.open({ programs: [asking] });
    const run = await node.start(asking, begin);
    const first = await asked(node, run.id, "Where to drink tea?");
    expect(first).toMatchObject({ approval: "write", nth: "1", choices: ["answered"], to: "ann" });
    await expect.poll(async () => (await run.status()).state, soon).toBe("parked");
    await node.stop();
    const other = await bench.open({ programs: [asking] });
    await other.approvals.decide(first, { by: "ann", data: { city: "Kyoto" } });
    const second = await asked(other, run.id, "Kyoto, really?");
    expect(second.nth).toBe("1.q2");
    await other.run(run.id).decide("write", { choice: "yes", by: "ann", nth: "1.q2" });
    expect(await other.run(run.id).result(limit)).toEqual({ topic: "tea", log: ["Kyoto yes"] });
    // Up to each question, and once to the end.
    expect(calls.filter((call) => call.startsWith(run.id))).toHaveLength(3);
  });

  test("an answer that the schema refuses is asked for again, with the reason", async () => {
    const node = await bench.open({ programs: [asking] });
    const run = await node.start(asking, begin);
    await asked(node, run.id, "Where to drink tea?");
    await run.decide("write", { by: "ann", data: { city: 5 } });
    await expect.poll(async () => (await open(node, run.id))[0]?.nth, soon).toBe("1.q2");
    const again = (await open(node, run.id))[0]!;
    expect(again.ask).toMatch(/^Where to drink tea\?\nThe last answer was refused: /);
    await node.approvals.decide(again, { by: "ann", data: { city: "Lima" } });
    await node.approvals.decide(await asked(node, run.id, "Lima, really?"), { choice: "no", by: "ann" });
    expect(await run.result(limit)).toMatchObject({ log: ["Lima no"] });
  });

  test("a function that catches the interrupt does not get past it", async () => {
    const catching = graph("catching", {
      state: S,
      start: "a",
      nodes: {
        a: async (ctx) => ({ log: [String(await ctx.interrupt("Sure?").catch(() => "caught"))] }),
      },
      edges: { a: "end" },
    });
    const node = await bench.open({ programs: [catching] });
    const run = await node.start(catching, begin);
    await node.approvals.decide(await asked(node, run.id, "Sure?"), { by: "ann", data: "sure" });
    expect((await run.result(limit)).log).toEqual(["sure"]);
  });

  test("an answer to one plan does not count for another", async () => {
    let price = 1;
    const priced = graph("priced", {
      state: S,
      start: "a",
      nodes: { a: async (ctx) => ({ log: [String(await ctx.interrupt({ ask: "Buy?", plan: { price } }))] }) },
      edges: { a: "end" },
    });
    const node = await bench.open({ programs: [priced] });
    const run = await node.start(priced, begin);
    const first = await asked(node, run.id, "Buy?");
    price = 2;
    await node.approvals.decide(first, { by: "ann", data: "for 1" });
    const again = await asked(node, run.id, "Buy?\nThe plan has changed since the last answer.");
    expect(again.plan).toEqual({ price: 2 });
    await node.approvals.decide(again, { by: "ann", data: "for 2" });
    expect((await run.result(limit)).log).toEqual(["for 2"]);
  });

  test("an answer to one question does not count for another with other choices", async () => {
    let tidies = true;
    const drops = graph("drops", {
      state: S,
      start: "a",
      nodes: {
        a: async (ctx) => {
          if (tidies) await ctx.interrupt({ ask: "Tidy up?", choices: ["yes", "no"] });
          const { outcome } = await ctx.interrupt({ ask: "Drop it?", choices: ["drop", "keep"] });
          return { log: [outcome] };
        },
      },
      edges: { a: "end" },
    });
    const node = await bench.open({ programs: [drops] });
    const run = await node.start(drops, begin);
    const first = await asked(node, run.id, "Tidy up?");
    tidies = false;
    await node.approvals.decide(first, { by: "ann", choice: "yes" });
    const again = await asked(node, run.id, "Drop it?\nThe choices have changed since the last answer.");
    await node.approvals.decide(again, { by: "ann", choice: "keep" });
    expect((await run.result(limit)).log).toEqual(["keep"]);
  });

  test("items, branches and nodes of a subgraph ask, each under its own path", async () => {
    const inner = graph("inner-ask", {
      state: S,
      start: "deep",
      nodes: { deep: async (ctx) => ({ log: [`deep ${await ctx.interrupt("Deep?")}`] }) },
      edges: { deep: "end" },
    });
    const many = graph("many-ask", {
      state: S,
      start: "each",
      nodes: {
        each: S.map(
          () => ["x", "y"],
          async (ctx, item) => `${item} ${await ctx.interrupt(`Item ${item}?`)}`,
          { into: "log" },
        ),
        both: S.parallel({
          left: async (ctx) => ({ log: [`left ${await ctx.interrupt("Left?")}`] }),
          right: S.subgraph(inner, { input: () => begin, apply: (_s, { log }) => ({ log }) }),
        }),
      },
      edges: { each: "both", both: "end" },
      snapshotEvery: 1,
    });
    const node = await bench.open({ programs: [many, inner] });
    const run = await node.start(many, begin);
    const gates = async () => (await open(node, run.id)).map(({ approval, nth }) => `${approval}:${nth}`).sort();
    await expect.poll(gates, soon).toEqual(["each:1.0", "each:1.1"]);
    await run.decide("each", { nth: "1.1", by: "ann", data: 2 });
    await run.decide("each", { nth: "1.0", by: "ann", data: 1 });
    await expect.poll(gates, soon).toEqual(["both/left:1.1", "both/right/deep:1.1.1"]);
    await run.decide("both/right/deep", { nth: "1.1.1", by: "ann", data: "r" });
    await run.decide("both/left", { nth: "1.1", by: "ann", data: "l" });
    expect((await run.result(limit)).log).toEqual(["x 1", "y 2", "left l", "deep r"]);
  });

  test("a question that times out gives its default, or undefined; what was spent before it counts", async () => {
    const hasty = (name: string, tokens: number) =>
      graph(name, {
        state: S,
        start: "a",
        nodes: {
          a: async (ctx) => {
            ctx.spend("tokens", 2);
            const choice = await ctx.interrupt({ ask: "Now?", choices: ["yes", "no"], default: "no", timeout: 30 });
            const city = await ctx.interrupt({ ask: "City?", answer: City, timeout: 30 });
            return { log: [choice.outcome, String(city)] };
          },
        },
        edges: { a: "end" },
        limits: { budgets: { tokens } },
      });
    const [enough, tight] = [hasty("enough", 6), hasty("tight", 5)];
    const node = await bench.open({ programs: [enough, tight] });
    expect((await (await node.start(enough, begin)).result(limit)).log).toEqual(["no", "undefined"]);
    const run = await node.start(tight, begin);
    await expect(run.result(limit)).rejects.toMatchObject({ cause: { code: "BUDGET_EXCEEDED" } });
  });

  test("an attempt that failed before the question still counts", async () => {
    const attempts: number[] = [];
    const failing = graph("failing-ask", {
      state: S,
      start: "a",
      nodes: {
        a: S.node({ retry: { attempts: 3, delay: 1 } }, async (ctx) => {
          attempts.push(ctx.attempt);
          if (attempts.length === 1) throw new Error("once");
          await ctx.interrupt("Go?");
          throw new Error("always");
        }),
      },
      edges: { a: "end" },
    });
    const node = await bench.open({ programs: [failing] });
    const run = await node.start(failing, begin);
    await node.approvals.decide(await asked(node, run.id, "Go?"), { by: "ann" });
    await expect(run.result(limit)).rejects.toMatchObject({ cause: { message: "always" } });
    expect(attempts).toEqual([1, 2, 2, 3]);
  });
});
