// The test kit: what compiles and what does not. The compiler is the test.

import { signal, workflow } from "../../src/index.js";
import { type Journal, type TestRun, testNode } from "../../src/testing/index.js";

type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>() => {};

const go = signal<{ n: number }>("go");
const child = workflow("child", async (_ctx, n: number) => `${n}`);
const order = workflow("order", async (ctx, id: string) => ({ id, n: (await ctx.waitFor(go)).n }));

export async function driving(): Promise<void> {
  await using node = testNode({ programs: [order], concurrency: 2 });
  const run = await node.start(order, "o-1");
  is<Is<typeof run, TestRun<{ id: string; n: number }>>>();
  const result = await run.result();
  is<Is<typeof result, { id: string; n: number }>>();
  await run.signal(go, { n: 1 });
  await node.advance("2d");
  // @ts-expect-error no duration
  await node.advance("two days");
  // @ts-expect-error the input of an order is a string
  await node.start(order, 1);
  // @ts-expect-error a payload of another type
  await run.signal(go, "one");
  // @ts-expect-error the kit has its own store
  testNode({ programs: [order], store: node.store });
}

export function stubs(): void {
  const { stub } = testNode({ programs: [order] });
  stub.child(child, (n) => n.toFixed(1));
  // @ts-expect-error the child returns a string
  stub.child(child, (n) => n);
  stub.signal(go, { n: 1 });
  // @ts-expect-error a signal with a payload
  stub.signal(go);
  stub.step("charge", ({ attempt, idempotencyKey }) => `${attempt} ${idempotencyKey}`);
  stub.approval("ship", { choice: "approved" });
}

export function journals(journal: Journal): void {
  const [ended] = journal.of("ended");
  is<Is<NonNullable<typeof ended>["type"], "ended">>();
  // @ts-expect-error no such event
  journal.of("nothing");
}
