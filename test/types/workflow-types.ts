// What compiles and what does not. The compiler is the test: every line under @ts-expect-error must be an error.

import type pg from "pg";
import { z } from "zod";
import type { EndedState } from "../../src/kernel/run/run-state.js";
import type { Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { workflow } from "../../src/workflow/workflow.js";

declare const node: Node;
type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>() => {};

const paid = signal<{ cents: number }>("paid");
const order = workflow("order", async (ctx, input: { id: string }) => {
  const receipt = await ctx.step("charge", ({ idempotencyKey, fence, attempt }) => {
    is<Is<typeof idempotencyKey, string>>();
    is<Is<typeof fence, bigint>>();
    return { key: idempotencyKey, attempt };
  });
  is<Is<typeof receipt, { key: string; attempt: number }>>();
  const { cents } = await ctx.waitFor(paid);
  is<Is<typeof cents, number>>();
  const maybe = await ctx.waitFor(paid, { timeout: "1h" });
  is<Is<typeof maybe, { cents: number } | undefined>>();
  const answer = await ctx.approval("ship", { ask: "?", choices: ["ship", "hold"], default: "hold" });
  is<Is<typeof answer.outcome, "ship" | "hold" | "expired">>();
  const plain = await ctx.approval("ok", { ask: "?" });
  if (plain.outcome !== "expired") is<Is<typeof plain.outcome, "approved" | "denied">>();
  const rows = await ctx.transaction("book", async (tx) => (await tx.query("select 1", [])) !== undefined);
  is<Is<typeof rows, boolean>>();
  // @ts-expect-error: restarts with the input of the workflow
  if (cents < 0) return ctx.continueAsNew({ id: 7 });
  // @ts-expect-error: none of the choices
  await ctx.approval("ship", { ask: "?", choices: ["ship", "hold"], default: "keep" });
  // @ts-expect-error: a transaction cannot be at most once, it is exactly once
  await ctx.transaction("book", { atMostOnce: true }, () => 1);
  return { id: input.id, cents };
});
const nothing = workflow("nothing", async () => "done");
const Parsed = z.object({ at: z.string().transform((text) => new Date(text)) });
const parsed = workflow("parsed", { input: Parsed, timeout: "1h" }, async (_ctx, { at }) => {
  is<Is<typeof at, Date>>();
  return at;
});
const parent = workflow("parent", async (ctx) => {
  const one = await ctx.child(order, { id: "a" });
  is<Is<typeof one, { id: string; cents: number }>>();
  const all = await ctx.children(parsed, [{ at: "2026-01-01" }]);
  is<Is<typeof all, Date[]>>();
  // @ts-expect-error: the child takes an object
  await ctx.child(order, "a");
  // @ts-expect-error: a schema's input, not its output
  await ctx.child(parsed, { at: new Date(0) });
});

export async function starts(): Promise<void> {
  const run = await node.start(order, { id: "a" }, { key: "k", delay: "1s" });
  const result = await run.result();
  is<Is<typeof result, { id: string; cents: number }>>();
  await run.signal(paid, { cents: 1 });
  await node.start(nothing);
  await node.start(parent);
  const dates = await node.start(parsed, { at: "2026-01-01" });
  is<Is<Awaited<ReturnType<typeof dates.result>>, Date>>();
  // @ts-expect-error: input is missing
  await node.start(order);
  // @ts-expect-error: input of another type
  await node.start(order, { id: 1 });
  // @ts-expect-error: not a duration
  await node.start(order, { id: "a" }, { delay: "soon" });
  // @ts-expect-error: payload of another type
  await run.signal(paid, { cents: "1" });
  // @ts-expect-error: payload is missing
  await run.signal(paid);
}

workflow("finishes", async (ctx) => {
  const n = await ctx.step("all", { finishOnAbort: true }, () => 1);
  is<Is<typeof n, number>>();
  await ctx.transaction("all", { finishOnAbort: true }, () => 1);
  // @ts-expect-error: yes or no
  await ctx.step("all", { finishOnAbort: "yes" }, () => 1);
});

const child = workflow("child", async (_ctx, n: number) => n > 1);
workflow("races", { cleanupTimeout: "10s" }, async (ctx) => {
  const first = await ctx.race({
    paid: ctx.waitFor(paid),
    late: ctx.sleep("late", "1h"),
    child: ctx.child(child, 1, { onParentEnd: "abandon" }),
  });
  if (first.winner === "paid") is<Is<typeof first.value, { cents: number }>>();
  if (first.winner === "late") is<Is<typeof first.value, void>>();
  if (first.winner === "child") is<Is<typeof first.value, boolean>>();
  is<Is<typeof first.winner, "paid" | "late" | "child">>();
  const forget = ctx.onCancel("undo", { retry: 5 }, ({ idempotencyKey }) => idempotencyKey);
  is<Is<typeof forget, () => void>>();
  const n = await ctx.cleanup(() => ctx.step("n", () => 1));
  is<Is<typeof n, number>>();
  // @ts-expect-error: a promise of the context
  await ctx.race({ paid: paid });
  // @ts-expect-error: cancel or abandon
  await ctx.child(child, 1, { onParentEnd: "keep" });
  // @ts-expect-error: its key is given
  ctx.onCancel("undo", { key: "mine" }, () => {});
});

export async function stops(): Promise<void> {
  const run = await node.start(nothing);
  const answer = await run.cancel();
  if (answer.outcome === "requested") is<Is<typeof answer.acknowledged, boolean>>();
  if (answer.outcome === "ended") is<Is<typeof answer.state, EndedState>>();
  const paused = await run.pause();
  is<Is<typeof paused.outcome, "paused" | "requested" | "ended" | "unknown">>();
  // @ts-expect-error: only a request is acknowledged
  paused.acknowledged;
}

// The transaction of a step takes what a client of `pg` takes, and answers in its shape.
workflow("sql", async (ctx) => {
  return ctx.transaction("write", async (tx) => {
    const result: pg.QueryResult<{ id: number }> = await tx.query<{ id: number }>("select 1 as id");
    await tx.query("select $1", [1]);
    await tx.query({ text: "select $1", values: [1], rowMode: "array" });
    const { rows, rowCount } = await tx.query({ text: "select 1" });
    return [result.rows[0]?.id, rows[0].anything, rowCount];
  });
});
