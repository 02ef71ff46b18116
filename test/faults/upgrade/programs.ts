// Programs of every kind whose runs stop in every state while `isOpen` is false, and end when it is true.

import { setTimeout as pass } from "node:timers/promises";
import { actor } from "../../../src/actor/actor.js";
import { expectation } from "../../../src/actor/expectation.js";
import { dag } from "../../../src/dag/dag.js";
import { task } from "../../../src/dag/task.js";
import { graph, state } from "../../../src/graph/index.js";
import { event, on, signal, workflow } from "../../../src/index.js";
import { orderMachine } from "../../machine/order-machine.js";

export const paid = signal<{ cents: number }>("paid");
export const ordered = event<{ id: string }>()("ordered");

const STATE = state<{ n: number; ok: boolean }>({});

/** `other`: code that does not fit what the first code has recorded. */
export function programs(isOpen: () => boolean, { other = false } = {}) {
  const gate = async (abort: AbortSignal) => {
    while (!isOpen()) await pass(20, undefined, { signal: abort });
  };
  const waits = workflow("waits", async (ctx, n: number) => {
    const first = await ctx.step("first", () => n);
    await ctx.step("gate", ({ signal: abort }) => gate(abort));
    return first + (await ctx.step("last", () => 1));
  });
  const sleeps = workflow("sleeps", async (ctx) => {
    await ctx.step("before", () => 1);
    await ctx.sleep("nap", "1s");
    return ctx.step("after", () => "woken");
  });
  const listens = workflow("listens", async (ctx) => (await ctx.waitFor(paid)).cents);
  const asks = workflow("asks", async (ctx) => (await ctx.approval("ship", { ask: "Ship it?" })).outcome);
  const parent = workflow("parent", async (ctx) => ctx.child(waits, 5));
  const limited = workflow("limited", { concurrency: 1 }, async (ctx) =>
    ctx.step("gate", ({ signal: abort }) => gate(abort).then(() => "in turn")),
  );
  const changed = workflow("changed", async (ctx) => {
    await ctx.step(other ? "other" : "own", () => 1);
    await ctx.waitFor(paid);
    return "fits";
  });
  const fails = workflow("fails", async (ctx) =>
    ctx.step("fail", { retry: 1 }, () => {
      if (!isOpen()) throw new TypeError("not yet");
      return "now";
    }),
  );
  const doomed = workflow("doomed", async (ctx) => ctx.step("one", () => "alive"));
  const first = task(async (ctx) => ctx.step("gate", ({ signal: abort }) => gate(abort).then(() => 1)));
  const second = task({ needs: { first } }, async (_ctx, needs) => needs.first + 1);
  const pair = dag("pair", { first, second });
  const broken = task({ retry: 1 }, async () => {
    if (!isOpen()) throw new TypeError("not yet");
    return 1;
  });
  const after = task({ needs: { broken } }, async (_ctx, needs) => needs.broken + 1);
  const skips = dag("skips", { broken, after });
  const walk = graph("walk", {
    state: STATE,
    start: "begin",
    nodes: {
      begin: async (_ctx, { n }) => ({ n: n + 1 }),
      review: STATE.approval({
        ask: () => "Go on?",
        choices: ["yes", "no"],
        apply: (_state, { outcome }) => ({ ok: outcome === "yes" }),
      }),
      finish: async (_ctx, { n }) => ({ n: n + 1 }),
    },
    edges: { begin: "review", review: "finish", finish: "end" },
  });
  const clerk = actor("clerk", {
    expectations: { file: expectation({ on: [on(ordered)] }, async (ctx) => ctx.step("file", () => "filed")) },
  });
  const { orders } = orderMachine("order", 60_000);
  const all = [waits, sleeps, listens, asks, parent, limited, changed, fails, doomed, pair, skips, walk, clerk, orders];
  return {
    all,
    waits,
    sleeps,
    listens,
    asks,
    parent,
    limited,
    changed,
    fails,
    doomed,
    pair,
    skips,
    walk,
    clerk,
    orders,
  };
}
