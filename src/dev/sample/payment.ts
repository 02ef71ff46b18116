// The state machine of the sample app: a payment that arrives, or expires.

import { assign, setup } from "xstate";
import { systemWorld } from "../../kernel/system-world.js";
import { sleep } from "../../kernel/world.js";
import { machine } from "../../machine/machine.js";

const definition = setup({
  types: {} as {
    context: { email: string; cents: number };
    input: { email: string };
    events: { type: "PAY"; cents: number } | { type: "MAILED" };
  },
  actions: { sendReceipt: () => {} },
}).createMachine({
  context: ({ input }) => ({ email: input.email, cents: 0 }),
  initial: "pending",
  states: {
    pending: {
      after: { 60000: "expired" },
      on: { PAY: { target: "paid", actions: assign({ cents: ({ event }) => event.cents }) } },
    },
    paid: { entry: "sendReceipt", on: { MAILED: "done" } },
    expired: { type: "final" },
    done: { type: "final" },
  },
});

export const payment = machine("payment", definition, {
  effects: {
    sendReceipt: async () => {
      await sleep(systemWorld(), 600);
      return { type: "MAILED" } as const;
    },
  },
  redact: ["input.email", "context.email"],
});
