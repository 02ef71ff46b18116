// Machines: types from the definition to events, states, effects and clients; wrong wiring does not compile.

import { assign, createMachine, sendTo, setup } from "xstate";
import { createClient, createNode } from "../../src/index.js";
import { instance, machine } from "../../src/machine/index.js";
import { memoryStore } from "../../src/store/memory/index.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>) => {};

type Pay = { type: "PAY"; cents: number };
type Ship = { type: "SHIP" };
const definition = setup({
  types: {} as {
    context: { email: string; paid: number };
    events: Pay | Ship;
    input: { email: string };
    output: { paid: number };
  },
  actions: { sendReceipt: (_, _params: { cents: number }) => {}, keep: assign({ paid: 1 }) },
}).createMachine({
  context: ({ input }) => ({ email: input.email, paid: 0 }),
  initial: "pending",
  output: ({ context }) => ({ paid: context.paid }),
  states: {
    pending: { on: { PAY: "paid" }, after: { 1000: "done" } },
    paid: { on: { SHIP: "done" } },
    done: { type: "final" },
  },
});

const orders = machine("order", definition, {
  effects: {
    sendReceipt: async (info, { context, event, params }) => {
      same<typeof context, { email: string; paid: number }>(true);
      same<typeof event, Pay | Ship>(true);
      same<typeof params, { cents: number }>(true);
      return info.attempt > 1 ? { type: "SHIP" } : undefined;
    },
  },
  migrate: (_, from) => ({ value: from === "1" ? "paid" : "pending", context: { email: "", paid: 0 } }),
  redact: ["context.email"],
});

machine("m", definition, {
  // @ts-expect-error no such action
  effects: { sendReciept: async () => {} },
});
machine("m", definition, {
  // @ts-expect-error no such event
  effects: { sendReceipt: async () => ({ type: "SHOP" }) },
});
machine("m", definition, {
  // @ts-expect-error no such state
  migrate: () => ({ value: "paying", context: { email: "", paid: 0 } }),
});
machine("m", definition, {
  // @ts-expect-error fields of context, event and input only
  redact: ["email"],
});

export async function wired(): Promise<void> {
  const node = await createNode({ store: memoryStore(), programs: [orders] });
  const order = await node.start(orders, { email: "a@b" }, { id: "o-1" });
  // @ts-expect-error the input is required
  await node.start(orders);
  // @ts-expect-error and has its type
  await node.start(orders, { mail: "a@b" });
  const reviews = machine("review", definition);
  const review = await node.start(reviews, { email: "" });
  node.instance(orders, order.id);
  node.instance(orders, "from a URL");
  // @ts-expect-error the id of an instance of another machine
  node.instance(orders, review.id);
  // @ts-expect-error the same for a start
  await node.start(orders, { email: "" }, { id: review.id });
  // @ts-expect-error and for a receiver
  instance(orders, review.id);
  const sent = await order.send({ type: "PAY", cents: 3 });
  same<typeof sent.value, "pending" | "paid" | "done">(true);
  // @ts-expect-error the event's fields are required
  await order.send({ type: "PAY" });
  // @ts-expect-error no such event
  await node.instance(orders, "o-1").send({ type: "SHOP" });
  const state = await order.state();
  same<typeof state.value, "pending" | "paid" | "done">(true);
  same<typeof state.context, { email: string; paid: number }>(true);
  same<typeof state.output, { paid: number } | undefined>(true);
  await order.matches("paid");
  // @ts-expect-error no such state
  await order.matches("payed");
  await order.can({ type: "SHIP" });
  // @ts-expect-error no such event
  await order.can({ type: "SHOP" });
  order.subscribe(({ context }) => same<typeof context, { email: string; paid: number }>(true));
  const later = await order.send({ type: "SHIP" }, { delay: "1h" });
  same<typeof later.outcome, "accepted">(true);
  // @ts-expect-error what is applied later cannot expect a sequence
  await order.send({ type: "SHIP" }, { delay: "1h", expectedSeq: 1 });

  const client = createClient<readonly [typeof orders]>({ store: memoryStore() });
  await client.instance("order", "o-1").send({ type: "SHIP" });
  // @ts-expect-error no such event
  await client.instance("order", "o-1").send({ type: "SHOP" });
  // @ts-expect-error no such machine
  client.instance("orders", "o-1");

  const loose = machine("loose", createMachine({ initial: "a", states: { a: { on: { GO: "b" } }, b: {} } }));
  await (await node.start(loose)).send({ type: "GO" });
}

setup({ types: {} as { events: { type: "TELL" } } }).createMachine({
  on: { TELL: { actions: sendTo(() => instance(orders, "o-1"), { type: "SHIP" }) } },
});
setup({ types: {} as { events: { type: "TELL" } } }).createMachine({
  on: {
    // @ts-expect-error no such event
    TELL: { actions: sendTo(() => instance(orders, "o-1"), { type: "SHOP" }) },
  },
});
