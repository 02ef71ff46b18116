// The load of a soak: workflows with steps, a sleep and a child, runs that events and a schedule start, machines with timers.

import { setup } from "xstate";
import { event, every, on, workflow } from "../src/index.js";
import { machine } from "../src/machine/index.js";

export const happened = event<{ no: string }>()("happened");

export const part = workflow("part", async (ctx, n: number) => ctx.step("make", () => n));

export const job = workflow("job", async (ctx, n: number) => {
  const first = await ctx.step("first", () => "x".repeat(200));
  await ctx.sleep("rest", 50);
  const made = await ctx.child(part, n);
  return ctx.step("last", () => `${made} ${first.length}`);
});

export const light = machine(
  "light",
  setup({ types: {} as { events: { type: "SEEN" } } }).createMachine({
    initial: "red",
    states: { red: { after: { 100: "green" } }, green: { after: { 200: "done" } }, done: { type: "final" } },
  }),
);
export const crossing = workflow("crossing", async (ctx) => {
  await ctx.child(light, undefined);
});
export const noted = workflow("noted", { on: [on(happened)] }, async (ctx, { no }) => ctx.step("note", () => no));
export const ticker = workflow("ticker", { on: [every("1s")] }, async (ctx) => {
  await ctx.step("tick", () => 1);
});

export const PROGRAMS = [part, job, light, crossing, noted, ticker];
