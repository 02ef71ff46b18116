// An order machine behind web routes, as in a Next.js application: each handler is a plain function of a Request, and any process may
// serve it. The payment is an invoked promise: it runs on a node and survives the process that asked for it.

import { createClient, createNode } from "holdfast";
import { startEmbedded } from "holdfast/embedded";
import { machine } from "holdfast/machine";
import { postgres } from "holdfast/postgres";
import { assign, fromPromise, setup } from "xstate";

const definition = setup({
  types: {} as {
    context: { cents: number; receipt: string; problem: string };
    input: { cents: number };
    events: { type: "PAY" } | { type: "CANCEL" };
  },
  actors: {
    charge: fromPromise(async ({ input }: { input: { cents: number } }) => {
      if (input.cents > 1_000) throw new Error("card declined");
      return `receipt for ${input.cents}`;
    }),
  },
}).createMachine({
  context: ({ input }) => ({ cents: input.cents, receipt: "", problem: "" }),
  initial: "open",
  states: {
    open: { tags: "editable", after: { 3600000: "expired" }, on: { PAY: "paying", CANCEL: "cancelled" } },
    paying: {
      invoke: {
        src: "charge",
        input: ({ context }) => ({ cents: context.cents }),
        onDone: { target: "paid", actions: assign({ receipt: ({ event }) => event.output }) },
        onError: { target: "open", actions: assign({ problem: ({ event }) => (event.error as Error).message }) },
      },
      on: { CANCEL: "cancelled" },
    },
    paid: { type: "final" },
    cancelled: { type: "final" },
    expired: { type: "final" },
  },
});
const orders = machine("orders", definition, { actors: { charge: { timeout: "10s" } } });

await using server = await startEmbedded({ onNotice: () => {} });
const store = postgres(server.url);
await store.migrate();

// The web process: it starts instances and sends events, and runs no effects.
const client = createClient({ store });

/** POST /orders */
async function createOrder(request: Request): Promise<Response> {
  const { id, cents } = (await request.json()) as { id: string; cents: number };
  await client.start(orders, { cents }, { id });
  return Response.json({ id }, { status: 201 });
}

/** POST /orders/:id/events: a retried request with the same key counts once. */
async function sendEvent(request: Request, { id }: { id: string }): Promise<Response> {
  const event = (await request.json()) as { type: "PAY" | "CANCEL" };
  const key = request.headers.get("idempotency-key");
  const sent = await client.instance(orders, id).send(event, key === null ? {} : { key });
  return Response.json(
    { outcome: sent.outcome, state: sent.value },
    { status: sent.outcome === "unhandled" ? 409 : 200 },
  );
}

/** GET /orders/:id, waits up to 10 s until the payment is decided. */
async function readOrder({ id }: { id: string }): Promise<Response> {
  const order = client.instance(orders, id);
  const { value, context } = await order.waitFor(({ value: now }) => now !== "paying", { timeout: "10s" });
  return Response.json({ state: value, ...context, canPay: await order.can({ type: "PAY" }) });
}

// The worker process.
const node = await createNode({ store, programs: [orders] });

const post = (body: object, headers = {}) =>
  new Request("http://shop/", { method: "POST", body: JSON.stringify(body), headers });
for (const [id, cents] of [
  ["small", 300],
  ["large", 5_000],
] as const) {
  console.log((await createOrder(post({ id, cents }))).status);
  console.log(await (await sendEvent(post({ type: "PAY" }, { "idempotency-key": "pay-1" }), { id })).json());
  console.log(await (await readOrder({ id })).json());
}

await node.stop();
await store.close();
