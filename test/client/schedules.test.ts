// Schedules as a user has them: declared with a workflow, listed, paused, resumed and fired from anywhere.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { cron, every } from "../../src/trigger/schedule.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

onBothStores((bench) => {
  test("a workflow with an interval is started by its schedule, each window once, on either of two nodes", async () => {
    const env = `env-${randomUUID()}`;
    const seen: string[] = [];
    const beat = workflow("beat", { on: [every("1s")] }, async (ctx, input) =>
      ctx.step("note", () => {
        seen.push(input.window);
      }),
    );
    const nodes = [await bench.open({ env, programs: [beat] }), await bench.open({ env, programs: [beat] })];
    const fired: number[] = [];
    for (const node of nodes) node.on("schedule.fired", ({ windows }) => fired.push(...windows.map(Date.parse)));
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(3);
    await nodes[0]!.schedules.pause("beat");
    const [{ last } = { last: 0 }] = await nodes[0]!.schedules.list();
    expect(new Set(seen).size).toBe(seen.length);
    expect(fired).toEqual([...new Set(fired)].sort((a, b) => a - b));
    expect(fired.at(-1)).toBeLessThanOrEqual(last);
    const gaps = fired.slice(1).map((window, i) => window - fired[i]!);
    expect(gaps.every((gap) => gap % 1000 === 0)).toBe(true);
  }, 30_000);

  test("the list has the next fires; a pause by one client is seen by all, until it is resumed", async () => {
    const env = `env-${randomUUID()}`;
    const night = workflow("night", { on: [cron("0 2 * * *", { timezone: "Europe/Berlin" })] }, async () => {});
    const hourly = workflow("hourly", { on: [every("1h", { catchUp: "all" })], version: "2" }, async () => {});
    const node = await bench.open({ env, programs: [night, hourly] });
    const client = createClient({ store: bench.store, env });
    const [first, second] = await client.schedules.list({ next: 3 });
    expect(first).toMatchObject({
      program: "hourly",
      schedule: "every 1h",
      catchUp: "all",
      paused: null,
      declared: true,
    });
    expect(second).toMatchObject({ program: "night", schedule: "cron 0 2 * * * (Europe/Berlin)", catchUp: "last" });
    expect(first!.nextFires).toEqual([1, 2, 3].map((n) => first!.last + n * 3_600_000));
    for (const at of second!.nextFires) {
      const hour = new Date(at).toLocaleString("en-GB", {
        timeZone: "Europe/Berlin",
        hour: "2-digit",
        minute: "2-digit",
      });
      expect(["02:00", "03:00"]).toContain(hour);
    }
    await client.schedules.pause("night", { by: "ann" });
    expect((await node.schedules.list())[1]).toMatchObject({ nextFires: [], paused: { by: "ann" } });
    await node.schedules.resume(second!.id);
    expect((await client.schedules.list())[1]).toMatchObject({ paused: null, nextFires: [expect.any(Number)] });
  });

  test("a schedule fired by hand runs at once with the same input, even while paused, and no window moves", async () => {
    const env = `env-${randomUUID()}`;
    const report = workflow(
      "report",
      { on: [cron("0 0 1 1 *")], queue: "slow", version: "3", concurrency: 1 },
      async (_ctx, input) => ({ ...input }),
    );
    const node = await bench.open({ env, programs: [report] });
    const client = createClient({ store: bench.store, env });
    const before = await client.schedules.list();
    await client.schedules.pause("report");
    const run = await client.schedules.fire("report");
    expect(await run.result({ timeout: "20s" })).toEqual({
      type: "cron",
      window: expect.stringMatching(ISO),
      at: expect.stringMatching(ISO),
    });
    const record = await bench.store.runs.get(run.id);
    expect(record?.group).toEqual({ env, stack: null, queue: "slow", program: "report", version: "3" });
    await node.schedules.resume("report");
    expect((await client.schedules.list()).map(({ last }) => last)).toEqual(before.map(({ last }) => last));
  });

  test("a node with two versions of a program fires the last one in its list", async () => {
    const env = `env-${randomUUID()}`;
    const [one, two] = ["1", "2"].map((version) =>
      workflow("both", { on: [every("1s")], version }, async () => version),
    );
    const node = await bench.open({ env, programs: [one!, two!] });
    const runId = await new Promise<string>((resolve) => {
      node.on("schedule.fired", ({ runIds }) => resolve(runIds[0]!));
    });
    expect((await bench.store.runs.get(runId))?.group.version).toBe("2");
    await node.schedules.pause("both");
  });

  test("a schedule that no node has declared is unknown, and several schedules cannot be fired as one", async () => {
    const env = `env-${randomUUID()}`;
    const twice = workflow("twice", { on: [every("1h"), cron("0 2 * * *")] }, async () => {});
    const node = await bench.open({ env, programs: [twice] });
    const unknown = expect.objectContaining({ code: "SCHEDULE_UNKNOWN" });
    await expect(node.schedules.pause("nobody")).rejects.toEqual(unknown);
    await expect(node.schedules.resume("nobody")).rejects.toEqual(unknown);
    await expect(node.schedules.fire("nobody")).rejects.toEqual(unknown);
    await expect(node.schedules.fire("twice")).rejects.toMatchObject({ code: "SCHEDULE_AMBIGUOUS" });
    await expect(node.schedules.list({ next: 1e9 })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    const [one] = await node.schedules.list();
    await expect(node.schedules.fire(one!.id)).resolves.toBeDefined();
  });
});
