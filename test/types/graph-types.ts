// Graphs: what is inferred, and what does not compile. The compiler is the test, as in workflow-types.ts.

import { z } from "zod";
import { append, graph, merge, replace, state } from "../../src/graph/index.js";
import { signal } from "../../src/index.js";
import type { Node } from "../../src/node/create-node.js";

declare const node: Node;
type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>() => {};

interface Research {
  question: string;
  queries: string[];
  findings: string[];
  ok: boolean;
  text?: string;
  sources?: Record<string, string>;
}
const S = state<Research>({ findings: append(), sources: merge(), question: replace() });
const woken = signal<{ by: string }>("woken");

const research = graph("research", {
  state: S,
  start: "plan",
  nodes: {
    plan: async (ctx, s) => {
      is<Is<typeof s, Readonly<Research>>>();
      is<Is<typeof ctx.attempt, number>>();
      return { queries: [s.question] };
    },
    search: S.map(
      (s) => s.queries,
      async (ctx, query) => {
        is<Is<typeof query, string>>();
        is<Is<typeof ctx.index, number>>();
        return query.length > 3 ? query : "short";
      },
      { into: "findings", limit: 3, retry: 2 },
    ),
    review: S.approval({
      ask: (s) => s.question,
      choices: ["go", "again"],
      apply: (_s, decision) => {
        is<Is<typeof decision.outcome, "go" | "again" | "expired">>();
        return { ok: decision.outcome === "go" };
      },
    }),
    bell: S.wait(woken, {
      timeout: "1h",
      apply: (_s, payload) => {
        is<Is<typeof payload, { by: string } | undefined>>();
        return { text: payload?.by ?? "nobody" };
      },
    }),
    write: S.node({ retry: 5, timeout: "10s" }, async (_ctx, s) => ({ text: s.findings.join() })),
  },
  edges: {
    plan: { to: "search", failed: "end" },
    search: "review",
    review: {
      to: ["bell", "plan"],
      choose: (s) => {
        is<Is<typeof s, Readonly<Research>>>();
        return s.ok ? "bell" : "plan";
      },
    },
    bell: "write",
    write: "end",
  },
  limits: { iterations: 20, timeout: "10m", budgets: { tokens: 1000 } },
});

export async function results(): Promise<void> {
  const run = await node.start(research, { question: "why", queries: [], findings: [], ok: false });
  is<Is<Awaited<ReturnType<typeof run.result>>, Research>>();
  // @ts-expect-error: without init the input is the first state
  await node.start(research, { question: "why" });
}

const short = graph("short", {
  state: state<Research>(),
  start: "only",
  init: (question: string) => ({ question, queries: [], findings: [], ok: false }),
  nodes: { only: async () => ({ ok: true }) },
  edges: { only: "end" },
  output: (s) => s.findings.length,
});

const parsed = graph("parsed", {
  state: state<{ at: Date; done: boolean }>(),
  input: z.object({ at: z.string().transform((text) => new Date(text)) }),
  init: ({ at }) => {
    is<Is<typeof at, Date>>();
    return { at, done: false };
  },
  start: "only",
  nodes: { only: () => ({ done: true }) },
  edges: { only: "end" },
  concurrency: 3,
});

export async function ends(): Promise<void> {
  const run = await node.start(short, "why");
  is<Is<Awaited<ReturnType<typeof run.result>>, number>>();
  await node.start(parsed, { at: "2026-01-01" });
  // @ts-expect-error: the schema's input, not its output
  await node.start(parsed, { at: new Date(0) });
  // @ts-expect-error: input of another type
  await node.start(short, 7);
}

const outer = state<{ topic: string; hits: number }>();
graph("outer", {
  state: outer,
  start: "sub",
  nodes: {
    sub: outer.subgraph(short, {
      input: (s) => s.topic,
      apply: (_s, hits) => {
        is<Is<typeof hits, number>>();
        return { hits };
      },
    }),
    both: outer.parallel({ a: async (_ctx, s) => ({ topic: s.topic }), b: () => ({ hits: 1 }) }),
  },
  edges: { sub: "both", both: "end" },
});

const T = state<{ a: number; names: string[] }>();
const two = { one: () => ({ a: 1 }), two: () => {} };
graph("bad start", {
  state: T,
  // @ts-expect-error: unknown start
  start: "oen",
  nodes: two,
  edges: { one: "two", two: "end" },
});
graph("bad target", {
  state: T,
  start: "one",
  nodes: two,
  // @ts-expect-error: unknown target
  edges: { one: "tow", two: "end" },
});
graph("bad failure edge", {
  state: T,
  start: "one",
  nodes: two,
  // @ts-expect-error: unknown target of a failure
  edges: { one: { to: "two", failed: "tow" }, two: "end" },
});
graph("edge of nothing", {
  state: T,
  start: "one",
  nodes: two,
  // @ts-expect-error: an edge from a node that is not there
  edges: { one: "two", two: "end", three: "end" },
});
graph("no edge", {
  state: T,
  start: "one",
  nodes: two,
  // @ts-expect-error: a node without an edge must say "end"
  edges: { one: "two" },
});
graph("bad field", {
  state: T,
  start: "one",
  nodes: {
    // @ts-expect-error: unknown field of the state
    one: async () => ({ b: 1 }),
  },
  edges: { one: "end" },
});
graph("bad choice", {
  state: T,
  start: "one",
  nodes: two,
  edges: {
    one: {
      to: ["one", "two"],
      // @ts-expect-error: "end" is none of `to`
      choose: (s) => (s.a > 1 ? "two" : "end"),
    },
    two: "end",
  },
});
graph("fan out", {
  state: T,
  start: "one",
  nodes: { one: (ctx) => ctx.goto("two", "three"), two: () => {}, three: (_ctx, s) => ({ a: s.a }) },
  edges: {
    one: { to: ["two", "three"] },
    two: { to: ["one", "three"], choose: (s) => (s.a > 1 ? (["one", "three"] as const) : "one") },
    three: "end",
  },
});
graph("bad fan out", {
  state: T,
  start: "one",
  nodes: two,
  // @ts-expect-error: unknown target
  edges: { one: { to: ["two", "three"] }, two: "end" },
});
graph("bad choices", {
  state: T,
  start: "one",
  nodes: two,
  edges: {
    // @ts-expect-error: "end" is none of `to`
    one: { to: ["one", "two"], choose: (s) => (s.a > 1 ? (["two", "end"] as const) : "two") },
    two: "end",
  },
});
graph("asks and keeps", {
  state: T,
  start: "one",
  nodes: {
    one: T.node({ cache: { key: (s) => s.a, ttl: "1h" } }, async (ctx) => {
      const { outcome } = await ctx.interrupt({ ask: "Go?", choices: ["yes", "no"], timeout: "1d" });
      is<Is<typeof outcome, "yes" | "no" | "expired">>();
      const parsed = await ctx.interrupt({ ask: "Where?", answer: z.object({ city: z.string() }) });
      is<Is<typeof parsed, { city: string }>>();
      const late = await ctx.interrupt({ ask: "Where?", answer: z.string(), timeout: "1d" });
      is<Is<typeof late, string | undefined>>();
      const free = await ctx.interrupt<number>("How many?");
      is<Is<typeof free, number>>();
      const known = await ctx.store.get<string>("ann", "city");
      is<Is<typeof known, string | undefined>>();
      // @ts-expect-error: a default that is not a choice
      await ctx.interrupt({ ask: "Go?", choices: ["yes", "no"], default: "maybe" });
    }),
  },
  edges: { one: "end" },
});
// @ts-expect-error: a result is kept for a time
T.node({ cache: { key: (s) => s.a } }, () => {});
T.map(
  (s) => s.names,
  // @ts-expect-error: a number is no name
  (_ctx, name) => name.length,
  { into: "names" },
);
T.map(
  (s) => s.names,
  () => "x",
  // @ts-expect-error: results go into a list
  { into: "a" },
);
// @ts-expect-error: append is for lists
state<{ a: number }>({ a: append() });
outer.subgraph(short, {
  // @ts-expect-error: the subgraph takes a text
  input: (s) => s.hits,
  apply: () => {},
});

export async function back(): Promise<void> {
  const run = await node.graphs.fork(research, "id", { from: "search:2", state: { ok: true } });
  is<Is<Awaited<ReturnType<typeof run.result>>, Research>>();
  await node.graphs.rewind(research, "id", { to: "plan", by: "ann", why: "a typo" });
  // @ts-expect-error: no such node
  await node.graphs.fork(research, "id", { from: "serach" });
  // @ts-expect-error: no such field
  await node.graphs.fork(research, "id", { from: "search", state: { okay: true } });
  const { state: known } = await node.graphs.state(research, "id", { at: "search:2" });
  is<Is<typeof known.queries, string[]>>();
  // @ts-expect-error: no such node
  await node.graphs.state(research, "id", { at: "serach" });
  await node.graphs.update(research, "id", { ok: true });
  // @ts-expect-error: no such field
  await node.graphs.update(research, "id", { okay: true });
  const inside = await node.graphs.rewind(research, "id", { to: "search/plan:1.2", by: "ann", why: "?" });
  is<Is<Awaited<ReturnType<typeof inside.result>>, Research>>();
  const first = { question: "why", queries: [], findings: [], ok: false };
  await node.graphs.start(research, first, { key: "k", breakpoints: { before: ["write"], after: ["search/plan"] } });
  // @ts-expect-error: no such node
  await node.graphs.start(research, first, { breakpoints: { before: ["wriet"] } });
  // @ts-expect-error: no such node
  await node.graphs.breakpoints(research, "id", { after: ["wriet"] });
  const talk = await node.graphs.continue(short, "ann", "why");
  is<Is<Awaited<ReturnType<typeof talk.result>>, number>>();
  // @ts-expect-error: input of another type
  await node.graphs.continue(short, "ann", 7);
  const thread = await node.graphs.thread(research, "ann");
  is<Is<NonNullable<typeof thread>["state"], Research>>();
  for await (const event of node.graphs.stream(research, "id", { modes: ["tokens", "state"] })) {
    is<Is<typeof event.mode, "tokens" | "state">>();
    if (event.mode === "state") is<Is<typeof event.state, Research>>();
  }
  // @ts-expect-error: states need the graph's code
  node.graphs.streamRun("id", { modes: ["state"] });
  // @ts-expect-error: who and why must be said
  await node.graphs.rewind(research, "id", { to: "plan" });
}

/** Every part is inferred wherever it is: results, below nodes that are made by calls. */
const late = graph("late", {
  state: S,
  start: "review",
  nodes: {
    review: S.approval({ ask: (s) => s.question, apply: (_s, d) => ({ ok: d.outcome === "approved" }) }),
    search: S.map(
      (s) => s.queries,
      (_ctx, query) => query,
      { into: "findings" },
    ),
  },
  edges: { review: "search", search: "end" },
  output: (s) => s.findings.length,
  init: (question: string) => ({ question, queries: [], findings: [], ok: false }),
});

export async function lately(): Promise<void> {
  const run = await node.start(late, "why");
  is<Is<Awaited<ReturnType<typeof run.result>>, number>>();
}
