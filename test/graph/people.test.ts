// People in a graph: gates that park the run, decisions that count once, and decisions that come too late.

import { afterAll, beforeAll, expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { signal } from "../../src/index.js";
import type { Node } from "../../src/node/create-node.js";
import { quarantinedWith } from "../harness/quarantined.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Draft {
  topic: string;
  ok: boolean;
  log: string[];
}
const S = state<Draft>({ log: append() });
const limit = { timeout: "10s" } as const;
const soon = { timeout: 8_000 };
const begin: Draft = { topic: "tea", ok: false, log: [] };

onBothStores((bench) => {
  const ran: string[] = [];
  const paid = signal<number>("paid");
  const drafts = graph("drafts", {
    state: S,
    start: "write",
    nodes: {
      write: async (ctx) => {
        ran.push(`write ${ctx.runId}`);
        return { log: [`write:${ctx.visit}`] };
      },
      review: S.approval({
        ask: (s) => `Publish ${s.topic}, ${s.log.length} tries?`,
        choices: ["yes", "no"],
        apply: (_s, decision) => ({ ok: decision.outcome === "yes", log: [decision.outcome] }),
      }),
      publish: async (ctx) => {
        ran.push(`publish ${ctx.runId}`);
        return { log: ["published"] };
      },
    },
    edges: {
      write: "review",
      review: { to: ["publish", "write"], choose: (s) => (s.ok ? "publish" : "write") },
      publish: "end",
    },
  });
  const hasty = graph("hasty", {
    state: S,
    start: "review",
    nodes: {
      review: S.approval({
        ask: () => "Now?",
        timeout: 60,
        apply: (_s, decision) => ({ log: [decision.outcome] }),
      }),
      default: S.approval({
        ask: () => "And now?",
        timeout: 20,
        default: "denied",
        apply: (_s, decision) => ({ log: [decision.outcome] }),
      }),
    },
    edges: { review: "default", default: "end" },
  });
  const two = graph("two", {
    state: S,
    start: "both",
    nodes: {
      both: S.parallel({
        legal: S.approval({ ask: () => "Legal?", apply: (_s, d) => ({ log: [`legal ${d.outcome}`] }) }),
        money: S.approval({ ask: () => "Money?", apply: (_s, d) => ({ log: [`money ${d.outcome}`] }) }),
        bill: S.wait(paid, { apply: (_s, cents) => ({ log: [`paid ${cents}`] }) }),
      }),
    },
    edges: { both: "end" },
  });
  let node: Node;
  beforeAll(async () => {
    node = await bench.open({ programs: [drafts, hasty, two] });
  });
  afterAll(() => node.stop());

  const parked = (run: { status(): Promise<{ state: string }> }) =>
    expect.poll(async () => (await run.status()).state, soon).toBe("parked");
  const asked = async (id: string) =>
    (await bench.store.journal.read(id))!.entries.filter(({ kind }) => kind === "approval.begun");

  test("a gate costs no slot and no attempt, and nothing behind it runs before a decision", async () => {
    const run = await node.start(drafts, begin);
    await parked(run);
    expect(node.active).toBe(0);
    expect(ran).not.toContain(`publish ${run.id}`);
    expect(await run.status()).toMatchObject({ failures: 0, crashes: 0, owner: null });
    await run.decide("review", { choice: "yes", by: "ann" });
    expect((await run.result(limit)).log).toEqual(["write:1", "yes", "published"]);
  });

  test("each visit of a gate asks again: a decision names the visit, and counts only once", async () => {
    const run = await node.start(drafts, begin);
    await parked(run);
    await run.decide("review", { choice: "no", by: "ann" });
    await expect.poll(async () => (await asked(run.id)).length, soon).toBe(2);
    await expect(run.decide("review", { choice: "yes", by: "ben" })).rejects.toMatchObject({
      code: "DECISION_CONFLICT",
      by: "ann",
    });
    expect(ran.filter((line) => line === `write ${run.id}`)).toHaveLength(2);
    await parked(run);
    expect(ran).not.toContain(`publish ${run.id}`);
    await run.decide("review", { choice: "yes", by: "ben", nth: 2 });
    expect((await run.result(limit)).log).toEqual(["write:1", "no", "write:2", "yes", "published"]);
    await expect(run.decide("review", { choice: "yes", by: "cat", nth: 2 })).rejects.toMatchObject({
      code: "DECISION_CONFLICT",
      by: "ben",
    });
  });

  test("a decision for a gate that the run is not at is refused, and so is one on another question", async () => {
    const run = await node.start(drafts, begin);
    await parked(run);
    const other = { choice: "yes", by: "ann" };
    await expect(run.decide("review", { ...other, nth: 2 })).rejects.toMatchObject({ code: "GATE_CLOSED" });
    await expect(run.decide("publish", other)).rejects.toMatchObject({ code: "GATE_CLOSED" });
    await expect(run.decide("review", { ...other, shown: "another plan" })).rejects.toMatchObject({
      code: "DECISION_STALE",
    });
    await expect(run.decide("review", { by: "ann", choice: "maybe" })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect((await run.status()).state).toBe("parked");
    const [entry] = await asked(run.id);
    const { hash } = JSON.parse(entry!.payload!.data);
    await run.decide("review", { ...other, shown: hash });
    await run.result(limit);
  });

  test("a gate times out, and a late decision is rejected as such", async () => {
    const run = await node.start(hasty, begin);
    await expect.poll(async () => (await asked(run.id)).length, soon).toBe(2);
    await expect(run.decide("review", { choice: "approved", by: "ann" })).rejects.toMatchObject({
      code: "DECISION_CONFLICT",
      by: null,
    });
    expect((await run.result(limit)).log).toEqual(["expired", "denied"]);
  });

  test("two approvals and a signal are awaited in parallel, in whatever order they come", async () => {
    const run = await node.start(two, begin);
    await parked(run);
    await run.signal(paid, 7);
    await run.decide("both/money", { choice: "approved", by: "mo", nth: "1.1" });
    await parked(run);
    await run.decide("both/legal", { choice: "denied", by: "lea", nth: "1.1" });
    expect((await run.result(limit)).log).toEqual(["legal denied", "money approved", "paid 7"]);
  });

  test("a decision resumes the run on another node than the one that asked", async () => {
    const first = await bench.open({ programs: [graphOn("elsewhere")] });
    const run = await first.start(graphOn("elsewhere"), begin);
    await parked(run);
    await first.stop();
    const second = await bench.open({ programs: [graphOn("elsewhere")] });
    await second.run(run.id).decide("review", { choice: "approved", by: "ann" });
    expect(await second.run(run.id).result(limit)).toMatchObject({ ok: true });
    await second.stop();
  });

  test("a decision is bound to the plan that was shown: on another plan it is stale, and other code cannot use it", async () => {
    let carried = 0;
    const spending = (cents: number) =>
      graph("spending", {
        state: S,
        start: "review",
        nodes: {
          review: S.approval({
            ask: () => (cents > 100 ? "Spend it, please?" : "Spend it?"),
            plan: (s) => ({ topic: s.topic, cents }),
            apply: (_s, d) => ({ ok: d.outcome === "approved" }),
          }),
          pay: () => {
            carried = cents;
          },
        },
        edges: { review: "pay", pay: "end" },
      });
    const first = await bench.open({ programs: [spending(100)] });
    const { id } = await first.start(spending(100), begin);
    const run = first.run<Draft>(id);
    await parked(run);
    const question = JSON.parse((await asked(id))[0]!.payload!.data);
    expect(question.plan).toEqual({ topic: "tea", cents: 100 });
    const decision = { choice: "approved", by: "ann" };
    await expect(run.decide("review", { ...decision, shown: "of 90 cents" })).rejects.toMatchObject({
      code: "DECISION_STALE",
    });
    await run.decide("review", { ...decision, shown: question.hash }, {});
    await run.result(limit);
    expect(carried).toBe(100);

    const other = first.run((await first.start(spending(100), begin)).id);
    await parked(other);
    await first.stop();
    const second = await bench.open({ programs: [spending(999)] });
    await second.run(other.id).decide("review", decision);
    await expect.poll(() => quarantinedWith(bench.store, other.id), { timeout: 10_000 }).toBe("PLAN_CHANGED");
    await second.graphs.rewind(spending(999), other.id, { to: "review", by: "ann", why: "a new price" });
    await expect.poll(async () => (await asked(other.id)).length, soon).toBe(2);
    expect(carried).toBe(100);
    await parked(other);
    await second.run(other.id).decide("review", { ...decision, nth: 2 });
    await other.result(limit);
    expect(carried).toBe(999);
    await second.stop();
  });

  test("a gate inside a subgraph is asked by its path with its own question, and its decision opens no other", async () => {
    const inner = graph("inner-gates", {
      state: S,
      start: "first",
      nodes: {
        first: S.approval({ ask: (s) => `First of ${s.topic}?`, apply: () => ({ log: ["first"] }) }),
        second: S.approval({ ask: (s) => `Second of ${s.topic}?`, apply: () => ({ log: ["second"] }) }),
      },
      edges: { first: "second", second: "end" },
    });
    const outer = graph("outer-gates", {
      state: S,
      start: "sub",
      nodes: { sub: S.subgraph(inner, { input: (s) => s, apply: (_s, last) => ({ log: last.log }) }) },
      edges: { sub: "end" },
    });
    const owner = await bench.open({ programs: [outer] });
    const run = await owner.start(outer, begin);
    await parked(run);
    await run.decide("sub/first", { choice: "approved", by: "ann", nth: "1.1" });
    await expect.poll(async () => (await asked(run.id)).length, soon).toBe(2);
    await parked(run);
    const questions = (await asked(run.id)).map(({ name, key, payload }) => [
      name,
      key,
      JSON.parse(payload!.data).ask as string,
    ]);
    expect(questions).toEqual([
      ["sub/first", "1.1", "First of tea?"],
      ["sub/second", "1.1", "Second of tea?"],
    ]);
    await expect(run.decide("sub/first", { choice: "approved", by: "ben", nth: "1.1" })).rejects.toMatchObject({
      code: "DECISION_CONFLICT",
    });
    expect((await run.status()).state).toBe("parked");
    await run.decide("sub/second", { choice: "approved", by: "ben", nth: "1.1" });
    expect((await run.result(limit)).log).toEqual(["first", "second"]);
    await owner.stop();
  });

  const graphOn = (queue: string) =>
    graph("moving", {
      state: S,
      queue,
      start: "review",
      nodes: { review: S.approval({ ask: () => "Go?", apply: (_s, d) => ({ ok: d.outcome === "approved" }) }) },
      edges: { review: "end" },
    });
});
