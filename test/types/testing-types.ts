// The test kit: what compiles and what does not. The compiler is the test.

import { createMachine } from "xstate";
import { signal, workflow } from "../../src/index.js";
import { machine } from "../../src/machine/index.js";
import {
  type Effects,
  type Histories,
  type Journal,
  type ReplayReport,
  replay,
  type SimulationReport,
  simulate,
  type TestRun,
  testNode,
} from "../../src/testing/index.js";

type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>() => {};

const go = signal<{ n: number }>("go");
const child = workflow("child", async (_ctx, n: number) => `${n}`);
const order = workflow("order", async (ctx, id: string) => ({ id, n: (await ctx.waitFor(go)).n }));

const door = machine(
  "door",
  createMachine({
    types: {} as { events: { type: "OPEN" } },
    initial: "closed",
    states: { closed: { on: { OPEN: "open" } }, open: { type: "final" } },
  }),
);

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

const billing = (effects: Effects) =>
  workflow("billing", async (ctx, cents: number) =>
    ctx.step("charge", () => effects.call("charge", { cents }, { result: "receipt" })),
  );

export async function simulating(): Promise<void> {
  const report = await simulate(billing, { input: 300, crashes: "everywhere", seeds: 3, faults: ["crash", "pause"] });
  is<Is<typeof report, SimulationReport>>();
  await simulate(order, { input: "o-1", act: (run) => run.signal(go, { n: 1 }) });
  await simulate(door, { input: undefined, act: (instance) => instance.send({ type: "OPEN" }) });
  // @ts-expect-error no such event of the machine
  await simulate(door, { input: undefined, act: (instance) => instance.send({ type: "SHUT" }) });
  // @ts-expect-error the input is a number of cents
  await simulate(billing, { input: "300" });
  // @ts-expect-error no such fault
  await simulate(billing, { input: 300, faults: ["fire"] });
  const [violation] = report.violations;
  if (violation) await simulate(billing, { input: 300, only: violation.case });
}

export async function replaying(histories: Histories): Promise<void> {
  const report = await replay([order, child], histories);
  is<Is<typeof report, ReplayReport>>();
  // @ts-expect-error not histories
  await replay(order, [1]);
}
