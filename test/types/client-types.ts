// What a client and a node accept, and what they return. The compiler is the test, as in workflow-types.ts.

import { z } from "zod";
import type { Client } from "../../src/client/create-client.js";
import { createClient } from "../../src/client/create-client.js";
import type { Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import type { Store } from "../../src/store/contract/store.js";
import { workflow } from "../../src/workflow/workflow.js";

declare const store: Store;
declare const node: Node;
type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>() => {};

const paid = signal<{ cents: number }>("paid");
const woken = signal("woken");
const order = workflow("order", async (_ctx, input: { id: string }) => ({ shipped: input.id }));
const nothing = workflow("nothing", async () => 7);
const parsed = workflow(
  "parsed",
  { input: z.object({ at: z.string().transform((text) => new Date(text)) }) },
  async (_ctx, { at }) => at,
);
const list = [order, nothing, parsed];
const tuple = [order, nothing] as const;

export async function byName(): Promise<void> {
  const client = createClient<typeof list>({ store });
  const run = await client.start("order", { id: "a" }, { key: "k", queue: "q", version: "2" });
  is<Is<Awaited<ReturnType<typeof run.result>>, { shipped: string }>>();
  const seven = await client.start("nothing");
  is<Is<Awaited<ReturnType<typeof seven.result>>, number>>();
  // The name alone brings no schema: it takes what the function gets.
  await client.start("parsed", { at: new Date(0) });
  const short: Client<typeof tuple> = createClient<typeof tuple>({ store });
  await short.start("order", { id: "a" });
  // @ts-expect-error: no such program
  await client.start("ordre", { id: "a" });
  // @ts-expect-error: not in this list
  await short.start("parsed", { at: new Date(0) });
  // @ts-expect-error: input of another type
  await client.start("order", { id: 1 });
  // @ts-expect-error: input is missing
  await client.start("order");
  // @ts-expect-error: without a list there are no names
  await createClient({ store }).start("order", { id: "a" });
}

export async function byValue(): Promise<void> {
  const client = createClient({ store });
  const run = await client.start(order, { id: "a" });
  is<Is<Awaited<ReturnType<typeof run.result>>, { shipped: string }>>();
  await client.start(parsed, { at: "2026-01-01" });
  // @ts-expect-error: the schema's input, not its output
  await client.start(parsed, { at: new Date(0) });
  // @ts-expect-error: a workflow says its queue itself
  await client.start(order, { id: "a" }, { queue: "q" });
}

export async function many(): Promise<void> {
  const client = createClient<typeof list>({ store });
  const [one] = await client.startMany("order", [{ input: { id: "a" }, key: "k", delay: "1s" }]);
  if (one?.outcome === "started") is<Is<Awaited<ReturnType<typeof one.run.result>>, { shipped: string }>>();
  if (one?.outcome === "refused") is<Is<typeof one.error.code, string>>();
  await node.startMany(order, [{ input: { id: "a" } }]);
  // @ts-expect-error: input of another type
  await client.startMany("order", [{ input: { id: 1 } }]);
  // @ts-expect-error: a transaction is for all of them
  await node.startMany(order, [{ input: { id: "a" }, tx: {} }]);
  // @ts-expect-error: a rejected start has no run
  if (one?.outcome === "refused") one.run;
}

export async function handles(): Promise<void> {
  const run = node.run("id");
  await run.signal(paid, { cents: 1 }, { id: "once" });
  await run.signal(woken);
  for await (const event of run.watch({ after: 3 })) {
    is<Is<typeof event.seq, number>>();
    if (event.type === "progress") is<Is<typeof event.value, unknown>>();
    if (event.type === "step" && event.state === "failed") is<Is<typeof event.error.message, string>>();
    // @ts-expect-error: a step that was done has a value, no error
    if (event.type === "step" && event.state === "done") event.error;
  }
  const { noCapableNode } = await run.status();
  is<Is<typeof noCapableNode, boolean>>();
  const { idle, worked } = await node.runUntilIdle({ timeout: "1s" });
  is<Is<typeof idle | typeof worked, boolean | number>>();
  node.on("run.reclaimed", ({ node: { name }, previousOwner, renewedAgoMs }) => {
    is<Is<typeof name | typeof previousOwner, string>>();
    is<Is<typeof renewedAgoMs, number | null>>();
  });
  // @ts-expect-error: payload of another type
  await run.signal(paid, { cents: "1" });
  // @ts-expect-error: no such event
  node.on("run.vanished", () => {});
}
