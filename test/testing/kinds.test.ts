// A test node with every kind of program and trigger: all of them live in skipped time.

import { cron, event, on, workflow } from "holdfast";
import { dag, task } from "holdfast/dag";
import { machine } from "holdfast/machine";
import { testNode } from "holdfast/testing";
import { expect, test } from "vitest";
import { setup } from "xstate";

const DAY = 86_400_000;

test("a machine's timer fires after 30 days, and its effect runs", async () => {
  const sent: string[] = [];
  const definition = setup({
    types: {} as { events: { type: "PAY" } | { type: "SENT" } },
    actions: { remind: () => {} },
  }).createMachine({
    initial: "open",
    states: {
      open: { after: { [30 * DAY]: "late" }, on: { PAY: "paid" } },
      late: { entry: "remind", on: { SENT: "reminded" } },
      reminded: {},
      paid: { type: "final" },
    },
  });
  const bill = machine("bill", definition, {
    effects: {
      remind: async ({ id }) => {
        sent.push(id);
        return { type: "SENT" };
      },
    },
  });
  await using node = testNode({ programs: [bill] });
  const instance = await node.start(bill, undefined, { id: "b-1" });
  await node.advance("29d");
  expect((await instance.state()).value).toBe("open");
  await instance.waitFor(({ value }) => value === "reminded");
  expect(sent).toEqual(["b-1"]);
  await expect(instance.waitFor(({ value }) => value === "paid")).rejects.toThrow(
    /instance b-1 of bill is in "reminded"/,
  );
  await expect(instance.waitFor(({ value }) => value === "paid", { timeout: "3d" })).rejects.toMatchObject({
    code: "WAIT_TIMEOUT",
  });
});

test("a schedule starts one run a day, and a stuck run is found next to it", async () => {
  const days: string[] = [];
  const nightly = workflow("nightly", { on: [cron("0 2 * * *", { timezone: "UTC" })] }, async (ctx, _input) => {
    days.push((await ctx.now()).toISOString());
  });
  const waits = workflow("waits", async (ctx) => ctx.approval("go", { ask: "Go?" }));
  await using node = testNode({
    programs: [nightly, waits],
    startAt: new Date("2030-03-01T12:00:00Z"),
    giveUp: "500ms",
  });
  await node.advance("3d");
  expect(days.map((day) => day.slice(0, 16))).toEqual(["2030-03-02T02:00", "2030-03-03T02:00", "2030-03-04T02:00"]);
  const run = await node.start(waits);
  await expect(run.result()).rejects.toThrow(/more than 500 ms of real time[\s\S]*parked on approval "go"/);
  await expect(run.result({ timeout: "2d" })).rejects.toMatchObject({ code: "RESULT_TIMEOUT" });
});

test("an event starts its programs, debounced", async () => {
  const updated = event<{ id: string; n: number }>()("updated");
  const index = workflow("index", { on: [on(updated, { subject: "id", debounce: "10m" })] }, async (_ctx, { n }) => n);
  await using node = testNode({ programs: [index] });
  const { runs } = await node.emit(updated, { id: "r", n: 1 });
  await node.advance("5m");
  await node.emit(updated, { id: "r", n: 2 });
  expect(await node.run<number>(runs[0]!.runId!).result()).toBe(2);
});

test("a DAG's tasks wait, fail and are tried again", async () => {
  const load = task({ retry: { attempts: 4, delay: "1h" } }, async (ctx, n: number) => {
    if (ctx.attempt < 3) throw new Error("not yet");
    await ctx.sleep("a week", "7d");
    return n + 1;
  });
  const report = task({ needs: { load } }, async (_ctx, { load }) => `${load} rows`);
  const etl = dag("etl", { load, report });
  await using node = testNode({ programs: [etl] });
  const from = node.now.getTime();
  const run = await node.start(etl, 1);
  expect(await run.result()).toEqual({ load: 2, report: "2 rows" });
  expect(node.now.getTime() - from).toBeGreaterThan(7 * DAY);
});

test("rates and the time limit of a run pass in skipped time", async () => {
  const mail = workflow("mail", { rate: { limit: 1, per: "1h" } }, async (ctx) => (await ctx.now()).getTime());
  const slow = workflow("slow", { timeout: "3d" }, async (ctx) => ctx.sleep("too long", "5d"));
  await using node = testNode({ programs: [mail, slow] });
  const runs = [await node.start(mail), await node.start(mail), await node.start(mail)];
  const times = await Promise.all(runs.map((run) => run.result()));
  expect(times[2]! - times[0]!).toBeGreaterThanOrEqual(2 * 3_600_000);
  await expect((await node.start(slow)).result()).rejects.toMatchObject({ cause: { code: "TIMEOUT" } });
});

test("cancel, pause and watch are answered", async () => {
  const long = workflow("long", async (ctx) => {
    await ctx.step("a", () => 1);
    await ctx.sleep("a year", "365d");
    return ctx.step("b", () => 2);
  });
  await using node = testNode({ programs: [long] });
  const cancelled = await node.start(long);
  await cancelled.untilParked();
  await cancelled.cancel({ by: "ann" });
  await expect(cancelled.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  const run = await node.start(long);
  const types: string[] = [];
  for await (const { type } of run.watch()) types.push(type);
  expect(types.at(-1)).toBe("ended");
});
