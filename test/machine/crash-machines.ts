// Two machines with a timer each; a timer starts an effect, whose result ends the instance.

import { setup } from "xstate";
import { machine } from "../../src/machine/index.js";

function timed(name: string) {
  const definition = setup({
    types: {} as { input: { ms: number }; context: { ms: number }; events: { type: "TOLD" } | { type: "STAY" } },
    actions: { tell: () => {} },
    delays: { wait: ({ context }) => context.ms },
  }).createMachine({
    context: ({ input }) => input,
    initial: "waits",
    states: {
      waits: { after: { wait: "rang" }, on: { STAY: {} } },
      rang: { entry: "tell", on: { TOLD: "done" } },
      done: { type: "final" },
    },
  });
  return machine(name, definition, { effects: { tell: async () => ({ type: "TOLD" }) } });
}

export const crashMachines = () => [timed("left"), timed("right")] as const;
