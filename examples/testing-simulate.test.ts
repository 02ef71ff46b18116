// Simulated faults: each kind of program charges a card, and the simulation finds the charge that can happen twice.
import { signal, workflow } from "holdfast";
import { actor, expectation } from "holdfast/actor";
import { dag, task } from "holdfast/dag";
import { graph, state } from "holdfast/graph";
import { machine } from "holdfast/machine";
import { type Effects, simulate } from "holdfast/testing";
import { expect, test } from "vitest";
import { assign, setup } from "xstate";

const order = (effects: Effects) =>
  workflow("order", async (ctx, cents: number) => {
    await ctx.step("charge", () => effects.call("charge", { cents }));
    await ctx.sleep("cool off", "2d");
    await ctx.step("ship", ({ idempotencyKey }) => effects.call("ship", { cents }, { key: idempotencyKey }));
    return cents;
  });

test("a workflow that charges without an idempotency key", async () => {
  const report = await simulate(order, { input: 300, crashes: "everywhere", seeds: 5 });
  expect(report.violations.map(({ kind, message }) => `${kind}: ${message}`)).toEqual([
    'doubled: effect charge {"cents":300} happened 2 times, without faults once; pass an idempotency key',
  ]);
});

const fixed = (effects: Effects) =>
  workflow("order", async (ctx, cents: number) => {
    await ctx.step("charge", ({ idempotencyKey }) => effects.call("charge", { cents }, { key: idempotencyKey }));
    return cents;
  });

test("the same workflow with the key", async () => {
  const report = await simulate(fixed, { input: 300 });
  report.assert();
});

const invoice = (effects: Effects) => {
  const total = task(async (_ctx, input: { cents: number }) => input.cents * 2);
  const charge = task({ needs: { total } }, async (_ctx, { total }) => effects.call("charge", { total }));
  return dag("invoice", { total, charge });
};

test("a DAG", async () => {
  const report = await simulate(invoice, { input: { cents: 300 }, seeds: 5 });
  expect(report.violations.map(({ kind }) => kind)).toContain("doubled");
});

const paid = signal<{ cents: number }>("paid");
const purchase = (effects: Effects) => {
  const S = state<{ cents: number; ok: boolean }>({});
  return graph("purchase", {
    state: S,
    init: (cents: number) => ({ cents, ok: false }),
    start: "review",
    nodes: {
      review: S.approval({
        ask: ({ cents }) => `Buy for ${cents}?`,
        apply: (_s, { outcome }) => ({ ok: outcome === "approved" }),
      }),
      charge: async (_ctx, { cents }) => {
        await effects.call("charge", { cents });
      },
      confirm: S.wait(paid, { apply: (_s, payment) => ({ cents: payment.cents }) }),
    },
    edges: { review: "charge", charge: "confirm", confirm: "end" },
    output: ({ cents }) => cents,
  });
};

test("a graph, with a person and a signal", async () => {
  const report = await simulate(purchase, {
    input: 300,
    stubs: (stub) => stub.approval("review", { choice: "approved" }).signal(paid, { cents: 300 }),
    seeds: 5,
  });
  expect(report.violations.map(({ kind }) => kind)).toContain("doubled");
});

const definition = setup({
  types: {} as {
    context: { cents: number };
    input: { cents: number };
    events: { type: "BUY" } | { type: "CHARGED" };
  },
  actions: { charge: () => {} },
}).createMachine({
  context: ({ input }) => ({ cents: input.cents }),
  initial: "open",
  states: {
    open: { on: { BUY: { target: "charging", actions: assign({ cents: ({ context }) => context.cents + 1 }) } } },
    charging: { entry: "charge", on: { CHARGED: "done" } },
    done: { type: "final" },
  },
});
const cart = (effects: Effects) =>
  machine("cart", definition, {
    effects: {
      charge: async (_info, { context }) => {
        await effects.call("charge", { cents: context.cents });
        return { type: "CHARGED" };
      },
    },
  });

test("a state machine", async () => {
  const report = await simulate(cart, {
    input: { cents: 299 },
    act: (instance) => instance.send({ type: "BUY" }),
    seeds: 5,
  });
  expect(report.violations.map(({ kind }) => kind)).toContain("doubled");
});

const biller = (effects: Effects) =>
  actor("biller", {
    expectations: {
      bill: expectation({}, async (ctx, input: { cents: number }) => {
        await ctx.step("charge", () => effects.call("charge", { cents: input.cents }));
        return input.cents;
      }),
    },
  }).expectations.bill;

test("an actor", async () => {
  const report = await simulate(biller, { input: { cents: 300 }, seeds: 5 });
  expect(report.violations.map(({ kind }) => kind)).toContain("doubled");
});
