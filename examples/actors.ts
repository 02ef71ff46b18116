// An actor watches resources, asks a model in single moves, and stays within its budget.
import { createNode, event, manual, on } from "holdfast";
import { actor, expectation, strategy } from "holdfast/actor";
import { memoryStore } from "holdfast/memory";

const updated = event<{ kind: "disk" | "cpu"; resourceId: string; used: number }>()("resource.updated");

const advice = strategy({
  steps: { ask: async (_step, question: string) => ({ answer: `${question}: clean up`, tokens: 40 }) },
  checkpoints: { version: 1 },
  init: (_step, input: { resourceId: string }) => ({
    resourceId: input.resourceId,
    answers: [] as string[],
    saved: false,
  }),
  next: (state) => {
    if (state.answers.length < 2)
      return { do: "call", name: "ask", args: `${state.resourceId} ${state.answers.length + 1}` };
    if (!state.saved) return { do: "checkpoint" };
    return { do: "done", result: state.answers };
  },
  handle: (state, step, { spend }) => {
    if (step.did === "checkpoint") return { ...state, saved: true };
    if (step.did !== "call") return state;
    spend({ tokens: step.result.tokens });
    return { ...state, answers: [...state.answers, step.result.answer] };
  },
});

const monitor = actor("resource-monitor", {
  concurrency: 3,
  overflow: "queue",
  expectations: {
    checkLimits: expectation(
      {
        on: [on(updated, { where: { kind: "disk" }, subject: "resourceId" }), manual<{ resourceId: string }>()],
        serial: "subject",
        circuitBreaker: { threshold: 5, halfOpenAfter: "1m" },
      },
      async (ctx, input) => ctx.step("judge", () => (input.type === "manual" ? "looked at" : `${input.used} % used`)),
    ),
    advise: expectation({ budget: { turns: 5, tokens: 1_000, timeout: "1m" } }, advice),
    thrifty: expectation(
      { budget: { tokens: 50 }, onBudgetExhausted: ({ spent }) => [`stopped after ${spent.tokens} tokens`] },
      advice,
    ),
  },
});
const { checkLimits, advise, thrifty } = monitor.expectations;

await using node = await createNode({ store: memoryStore(), programs: [monitor] });

const { runs } = await node.emit(updated, { kind: "disk", resourceId: "r-7", used: 91 });
console.log(runs[0]?.program, runs[0]?.outcome, await node.run(runs[0]!.runId!).result());
console.log(await (await node.start(checkLimits, { type: "manual", resourceId: "r-7" })).result());
console.log(await (await node.start(advise, { resourceId: "r-7" })).result());
console.log(await (await node.start(thrifty, { resourceId: "r-7" })).result());
