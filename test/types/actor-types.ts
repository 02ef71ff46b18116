// What the compiler knows of actors: from triggers and schemas to the result of an episode, without a cast.

import { z } from "zod";
import { actor, expectation, strategy } from "../../src/actor/index.js";
import {
  createClient,
  createNode,
  cron,
  event,
  manual,
  on,
  type RunHandle,
  signal,
  type Tick,
} from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <_A, _B>(_is: Same<_A, _B>) => {};

interface Resource {
  kind: "disk" | "cpu";
  resourceId: string;
  used: number;
}
const updated = event<Resource>()("resource.updated");
const paid = signal<{ cents: number }>("paid");

const research = strategy({
  steps: {
    search: async (_s, query: string) => [query, query],
    count: () => 3,
  },
  signals: { paid },
  init: (_s, input: { topic: string }) => ({ topic: input.topic, found: [] as string[], cents: 0 }),
  next: (state, spent) => {
    same<typeof state.found, string[]>(true);
    same<typeof spent.turns, number>(true);
    if (state.found.length === 0) return { do: "call", name: "search", args: state.topic };
    if (state.cents === 0) return { do: "wait", name: "paid", timeout: "1h" };
    return { do: "done", result: { answer: state.found.join(), cents: state.cents } };
  },
  handle: (state, step) => {
    if (step.did === "call" && step.name === "search") {
      same<typeof step.result, string[]>(true);
      same<typeof step.args, string>(true);
      return { ...state, found: step.result };
    }
    if (step.did === "call") same<typeof step.result, number>(true);
    if (step.did === "wait") return { ...state, cents: step.payload?.cents ?? 0 };
    return state;
  },
});

strategy({
  steps: { search: async (_s, query: string) => [query] },
  init: () => ({ n: 0 }),
  // @ts-expect-error no such step
  next: () => ({ do: "call", name: "serach", args: "x" }),
  handle: (state) => state,
});
strategy({
  steps: { search: async (_s, query: string) => [query] },
  init: () => ({ n: 0 }),
  // @ts-expect-error the step takes a text
  next: () => ({ do: "call", name: "search", args: 3 }),
  handle: (state) => state,
});
strategy({
  steps: {},
  init: () => ({ n: 0 }),
  next: () => ({ do: "done", result: 1 }),
  // @ts-expect-error another state than init makes
  handle: () => ({ m: "x" }),
});

const monitor = actor("resource-monitor", {
  concurrency: 3,
  overflow: "shed-oldest",
  expectations: {
    checkLimits: expectation(
      {
        on: [
          on(updated, { where: { kind: "disk" }, subject: "resourceId" }),
          cron("0 * * * *"),
          manual<{ why: string }>(),
        ],
        budget: { turns: 12, tokens: null, timeout: "2m" },
        serial: "subject",
        onBudgetExhausted: ({ limit, input }) => {
          same<typeof limit, "turns" | "tokens" | "timeout">(true);
          return input.type.length;
        },
      },
      async (ctx, input) => {
        same<
          typeof input,
          | ({ readonly type: "resource.updated" } & Resource)
          | Tick<"cron">
          | ({ readonly type: "manual" } & { why: string })
        >(true);
        ctx.spend({ tokens: 3 });
        return ctx.step("used", () => (input.type === "resource.updated" ? input.used : 0));
      },
    ),
    research: expectation({ budget: { turns: 50 } }, research),
    plain: expectation(async (ctx, who: string) => ctx.step("greet", () => `hello ${who}`)),
    parsed: expectation({ input: z.object({ n: z.coerce.number() }) }, async (_ctx, { n }) => n + 1),
  },
});

same<(typeof monitor.expectations.plain)["name"], "resource-monitor::plain">(true);

await using node = await createNode({ store: memoryStore(), programs: [monitor] });
const checked = await node.start(monitor.expectations.checkLimits, { type: "manual", why: "a look" });
same<typeof checked, RunHandle<number>>(true);
const researched = await node.start(monitor.expectations.research, { topic: "x" });
same<typeof researched, RunHandle<{ answer: string; cents: number }>>(true);
same<typeof greeted, RunHandle<string>>(true);
const greeted = await node.start(monitor.expectations.plain, "ann");
await node.start(monitor.expectations.parsed, { n: "4" });
// @ts-expect-error an input that no trigger has
await node.start(monitor.expectations.checkLimits, { type: "manual" });
// @ts-expect-error no such expectation
monitor.expectations.chekLimits;

const client = createClient<[typeof monitor]>({ store: memoryStore() });
const named = await client.start("resource-monitor::plain", "ann");
same<typeof named, RunHandle<string>>(true);
// @ts-expect-error a name that no expectation has
await client.start("resource-monitor::nothing", "ann");

expectation(
  {
    on: [on(updated)],
    // @ts-expect-error not what the strategy returns
    onBudgetExhausted: () => "text",
  },
  async () => 3,
);
// @ts-expect-error a path that the input does not have
expectation({ on: [on(updated)], serial: "resourcId" }, async () => 3);
// @ts-expect-error not a policy
actor("a", { concurrency: 1, overflow: "explode", expectations: { x: expectation(async () => 1) } });
