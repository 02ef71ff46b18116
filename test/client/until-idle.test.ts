// Working until there is nothing to do: for scripts, tests and serverless.

import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import type { NodeEvents } from "../../src/node/node-events.js";
import { createBus } from "../../src/telemetry/bus.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";

const child = workflow("idle-child", async (ctx, n: number) => ctx.step("square", () => n * n));
const parent = workflow("idle-parent", async (ctx) => ctx.children(child, [1, 2, 3]));
const sleeper = workflow("idle-sleeper", async (ctx) => ctx.sleep("long", "1h"));
const slow = workflow("idle-slow", async (ctx) =>
  ctx.step("wait", ({ signal }) => new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason)))),
);
const programs = [child, parent, sleeper];

onBothStores((bench) => {
  test("works off everything, including runs that its work starts, and leaves runs that sleep or start later", async () => {
    const client = createClient({ store: bench.store, env: "idle" });
    const squares = await client.startMany(child, [{ input: 2 }, { input: 3 }, { input: 4, delay: "1h" }]);
    const family = await client.start(parent);
    const asleep = await client.start(sleeper);
    // Polls so rarely that only runUntilIdle can find the work.
    const pace = { timing: { pollInterval: "20s", pollMax: "20s", lease: "60s", housekeeping: "10s" } } as const;
    const bus = createBus<NodeEvents>();
    let settled = 0;
    bus.on("run.settled", () => settled++);
    const node = await bench.open({ programs, env: "idle", concurrency: 2, bus, ...pace });
    expect(await node.runUntilIdle({ timeout: "20s" })).toEqual({ idle: true, worked: settled });
    expect(settled).toBeGreaterThanOrEqual(7);
    expect(node.active).toBe(0);
    expect(await family.result({ timeout: 0 })).toEqual([1, 4, 9]);
    expect(await asleep.status()).toMatchObject({ state: "parked" });
    const states = await Promise.all(squares.map(async (one) => "run" in one && (await one.run.status()).state));
    expect(states).toEqual(["completed", "completed", "waiting"]);
    expect(await node.runUntilIdle({ timeout: "20s" })).toEqual({ idle: true, worked: 0 });
    await node.stop();
    expect(await node.runUntilIdle({ timeout: "20s" })).toEqual({ idle: false, worked: 0 });
  });

  test("gives up after its timeout while a run is in progress", async () => {
    const node = await bench.open({ programs: [slow], env: "busy" });
    await node.start(slow);
    await expect.poll(() => node.active, { timeout: 5_000 }).toBe(1);
    expect(await node.runUntilIdle({ timeout: 100 })).toEqual({ idle: false, worked: 0 });
    await node.stop({ grace: 0 });
  });
});
