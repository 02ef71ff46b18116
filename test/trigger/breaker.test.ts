// Circuit breakers on either store: triggers start nothing while one is open, on any node and after a restart.

import { expect, test } from "vitest";
import { InvalidInput } from "../../src/kernel/error.js";
import type { Node } from "../../src/node/create-node.js";
import { event, on } from "../../src/trigger/event.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";

let count = 0;
const fresh = (name: string) => `${name}-${++count}`;

onBothStores((bench) => {
  const ended = (node: Node, runId: string | null) =>
    node
      .run(runId!)
      .result({ timeout: "10s" })
      .catch(() => "failed");

  test("a breaker is opened by failures on two nodes, still open after a restart, and closed by the one run that probes", async () => {
    const updated = event<{ n: number }>()(fresh("updated"));
    let broken = true;
    const program = workflow(
      fresh("guarded"),
      { on: [on(updated)], circuitBreaker: { threshold: 4, halfOpenAfter: "1500ms" } },
      async () => {
        if (broken) throw new Error("down");
        return "up";
      },
    );
    const nodes = [await bench.open({ programs: [program] }), await bench.open({ programs: [program] })];
    const told: string[] = [];
    const hear = (node: Node) => {
      node.on("breaker.opened", () => told.push("opened"));
      node.on("breaker.half_opened", () => told.push("half-opened"));
      node.on("breaker.closed", () => told.push("closed"));
      node.on("event.rejected", () => told.push("rejected"));
    };
    for (const node of nodes) hear(node);
    let n = 0;
    const emit = async (node: Node) => (await node.emit(updated, { n: ++n })).runs[0]!;
    for (let i = 0; i < 4; i++) {
      const run = await emit(nodes[i % 2]!);
      expect(run.outcome).toBe("started");
      await ended(nodes[0]!, run.runId);
    }
    expect(await emit(nodes[0]!)).toEqual({ program: program.name, runId: null, outcome: "rejected" });
    expect((await emit(nodes[1]!)).outcome).toBe("rejected");
    await expect.poll(() => told).toEqual(["opened", "rejected", "rejected"].sort());
    await Promise.all(nodes.map((node) => node.stop()));
    const again = await bench.open({ programs: [program] });
    hear(again);
    expect((await emit(again)).outcome).toBe("rejected");
    // A call is not a trigger.
    expect(await ended(again, (await again.start(program, { type: updated.name, n: 0 })).id)).toBe("failed");
    broken = false;
    const tries = async () =>
      (await Promise.all([emit(again), emit(again), emit(again)])).map(({ outcome }) => outcome);
    await expect.poll(tries, { timeout: 10_000, interval: 50 }).toEqual(["started", "rejected", "rejected"]);
    await expect.poll(async () => (await emit(again)).outcome, { timeout: 10_000 }).toBe("started");
    expect(told.filter((one) => one === "half-opened")).toHaveLength(1);
    await expect.poll(() => told.filter((one) => one === "closed")).toHaveLength(1);
  }, 30_000);

  test("when a breaker opens, running runs are cancelled if the program asks for it", async () => {
    const asked = event<{ n: number; fails: boolean }>()(fresh("asked"));
    const circuitBreaker = { threshold: 1, halfOpenAfter: "1h", cancelRunning: true } as const;
    const program = workflow(fresh("cancelling"), { on: [on(asked)], circuitBreaker }, async (ctx, { fails }) => {
      if (fails) throw new Error("down");
      await ctx.sleep("long", "1h");
    });
    const node = await bench.open({ programs: [program] });
    const [sleeper] = (await node.emit(asked, { n: 1, fails: false })).runs;
    await expect.poll(async () => (await node.run(sleeper!.runId!).status()).state).toBe("parked");
    const [failing] = (await node.emit(asked, { n: 2, fails: true })).runs;
    await ended(node, failing!.runId);
    await expect(node.run(sleeper!.runId!).result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  });
});

test("an invalid breaker is rejected where it is defined", () => {
  for (const circuitBreaker of [
    null,
    { threshold: 0, halfOpenAfter: "1m" },
    { threshold: 1.5, halfOpenAfter: 1 },
    { threshold: 1 },
  ]) {
    expect(() => workflow("bad", { circuitBreaker: circuitBreaker as never }, async () => {})).toThrow(InvalidInput);
  }
});
