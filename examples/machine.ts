// A state machine whose timers survive: an order is paid in time, or expires. The definition is plain XState.

import { createNode } from "holdfast";
import { startEmbedded } from "holdfast/embedded";
import { machine } from "holdfast/machine";
import { postgres } from "holdfast/postgres";
import { assign, setup } from "xstate";

const definition = setup({
  types: {} as {
    context: { email: string; paid: number };
    input: { email: string };
    events: { type: "PAY"; cents: number } | { type: "MAILED" };
  },
  actions: { sendReceipt: (_, _params: { cents: number }) => {} },
}).createMachine({
  context: ({ input }) => ({ email: input.email, paid: 0 }),
  initial: "pending",
  states: {
    pending: {
      after: { 500: "expired" },
      on: { PAY: { target: "paid", actions: assign({ paid: ({ event }) => event.cents }) } },
    },
    paid: {
      entry: { type: "sendReceipt", params: ({ context }) => ({ cents: context.paid }) },
      on: { MAILED: "done" },
    },
    expired: { type: "final" },
    done: { type: "final" },
  },
});

export const orders = machine("order", definition, {
  effects: {
    sendReceipt: async ({ idempotencyKey }, { context, params }) => {
      console.log(`receipt for ${params.cents} to ${context.email} (${idempotencyKey})`);
      return { type: "MAILED" };
    },
  },
  redact: ["input.email", "context.email"],
});

const server = await startEmbedded({ onNotice: () => {} });
const store = postgres(server.url);
await store.migrate();
const node = await createNode({ store, programs: [orders] });

const paid = await node.start(orders, { email: "ann@example.com" }, { id: "order-1" });
const late = await node.start(orders, { email: "bob@example.com" }, { id: "order-2" });
console.log(await paid.send({ type: "PAY", cents: 300 }));
await paid.waitFor(({ status }) => status === "done");
await late.waitFor(({ status }) => status === "done");
console.log((await paid.state()).value, (await late.state()).value);
console.log((await late.history()).map(({ seq, type, event }) => `${seq} ${type} ${JSON.stringify(event)}`).join("\n"));

await node.stop();
await store.close();
await server.stop();
