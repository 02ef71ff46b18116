// A graph whose node reports progress and then kills its process.

import { graph, state } from "../../src/graph/index.js";

export const poison = graph("poison", {
  state: state<{ n: number }>(),
  start: "bite",
  nodes: {
    bite: async (ctx) => {
      await ctx.progress("biting");
      process.kill(process.pid, "SIGKILL");
      await new Promise(() => {});
    },
  },
  edges: { bite: "end" },
});
