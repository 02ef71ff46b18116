// The machine that most suites play with: an order that is paid in time or expires.

import { assign, setup } from "xstate";
import { machine } from "../../src/machine/index.js";

export interface Sent {
  readonly effect: string;
  readonly id: string;
  readonly key: string;
  readonly cents: number;
}

export function orderDefinition(expiryMs = 60_000) {
  return setup({
    types: {} as {
      context: { email: string; paid: number; notes: number };
      input: { email: string };
      output: { paid: number };
      events:
        | { type: "PAY"; cents: number }
        | { type: "NOTE" }
        | { type: "RESET" }
        | { type: "LEAVE" }
        | { type: "BACK" }
        | { type: "SHIP" }
        | { type: "MAILED"; at: string };
    },
    actions: { sendReceipt: (_, _params: { cents: number }) => {} },
    guards: { enough: ({ event }) => event.type === "PAY" && event.cents > 0 },
    delays: { expiry: expiryMs },
  }).createMachine({
    id: "order",
    context: ({ input }) => ({ email: input.email, paid: 0, notes: 0 }),
    initial: "pending",
    output: ({ context }) => ({ paid: context.paid }),
    states: {
      pending: {
        after: { expiry: "expired" },
        on: {
          PAY: { guard: "enough", target: "paid", actions: assign({ paid: ({ event }) => event.cents }) },
          NOTE: { actions: assign({ notes: ({ context }) => context.notes + 1 }) },
          RESET: { target: "pending", reenter: true },
          LEAVE: "away",
        },
      },
      away: { on: { BACK: "pending", NOTE: { actions: assign({ notes: ({ context }) => context.notes + 1 }) } } },
      paid: {
        entry: { type: "sendReceipt", params: ({ context }) => ({ cents: context.paid }) },
        on: { SHIP: "done", MAILED: "mailed" },
      },
      mailed: { on: { SHIP: "done" } },
      expired: { on: { BACK: "pending" } },
      done: { type: "final" },
    },
  });
}

/** With a list of the receipts that were sent. */
export function orderMachine(name = "order", expiryMs = 60_000) {
  const sent: Sent[] = [];
  const orders = machine(name, orderDefinition(expiryMs), {
    effects: {
      sendReceipt: async ({ idempotencyKey, id }, { params }) => {
        sent.push({ effect: "sendReceipt", id, key: idempotencyKey, cents: params.cents });
        return { type: "MAILED", at: "now" };
      },
    },
  });
  return { orders, sent };
}
