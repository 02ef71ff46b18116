// Runs that outlive their nodes, their code and their limits.

import { beforeAll, expect, test } from "vitest";
import type { Node } from "../../src/node/create-node.js";
import { workflow } from "../../src/workflow/workflow.js";
import { quarantinedWith } from "../harness/quarantined.js";
import { onBothStores } from "./node-suite.js";

const hang = () => new Promise<never>(() => {});

onBothStores((bench) => {
  const done: string[] = [];
  let waitInStep: () => Promise<void> = async () => {};
  const order = workflow("order", { queue: "takeover" }, async (ctx, id: string) => {
    await ctx.step("charge", () => void done.push(`charge ${id}`));
    await ctx.step("pack", async () => {
      await waitInStep();
      done.push(`pack ${id}`);
    });
    return ctx.runId;
  });
  const limited = workflow("limited", { timeout: 100, cleanupTimeout: "300ms" }, async (ctx) => ctx.step("hang", hang));
  const impatient = workflow("impatient", async (ctx) =>
    ctx.step(
      "slow",
      { timeout: 30, retry: 1 },
      ({ signal }) =>
        new Promise((_, no) => {
          signal.addEventListener("abort", () => no(signal.reason));
        }),
    ),
  );
  const once = workflow("once", { queue: "takeover" }, async (ctx, id: string) =>
    ctx.step("send", { atMostOnce: true }, async () => {
      done.push(`send ${id}`);
      await waitInStep();
    }),
  );
  let node: Node;
  beforeAll(async () => {
    node = await bench.open({ programs: [limited, impatient] });
  });

  test("a node that stops hands its run back at once, and another continues without executing a step twice", async () => {
    let release = () => {};
    waitInStep = () => new Promise((resolve) => (release = resolve));
    const first = await bench.open({ programs: [order] });
    const run = await first.start(order, "a");
    await expect.poll(() => done.includes("charge a"), { timeout: 5_000 }).toBe(true);
    const stopped = first.stop({ grace: "5s" });
    release();
    await stopped;
    waitInStep = async () => {};
    const second = await bench.open({ programs: [order] });
    await second.run(run.id).result({ timeout: "5s" });
    expect(done.filter((line) => line.endsWith(" a"))).toEqual(["charge a", "pack a"]);
    await second.stop();
  });

  test("a run whose node hangs is taken over after its lease, and the late result is refused", async () => {
    let release = () => {};
    waitInStep = () => new Promise((resolve) => (release = resolve));
    const hung = await bench.open({ programs: [order], timing: { lease: 300, renewEvery: 250 } });
    const run = await hung.start(order, "b");
    await expect.poll(() => done.includes("charge b"), { timeout: 5_000 }).toBe(true);
    // The grace ends before the step: the node drops the claim and leaves the run to its lease.
    await hung.stop({ grace: 10 });
    waitInStep = async () => {};
    const other = await bench.open({ programs: [order] });
    expect(await other.run(run.id).result({ timeout: "10s" })).toBe(run.id);
    release();
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(entries.filter(({ kind }) => kind === "step").map(({ name }) => name)).toEqual(["charge", "pack"]);
    await other.stop();
  });

  test("an at-most-once step that was begun on a node that is gone is not repeated", async () => {
    waitInStep = hang;
    const gone = await bench.open({ programs: [once], timing: { lease: 300, renewEvery: 250 } });
    const run = await gone.start(once, "c");
    await expect.poll(() => done.includes("send c"), { timeout: 5_000 }).toBe(true);
    await gone.stop({ grace: 10 });
    const other = await bench.open({ programs: [once] });
    await expect(other.run(run.id).result({ timeout: "10s" })).rejects.toMatchObject({
      cause: { code: "STEP_INTERRUPTED" },
    });
    expect(done.filter((line) => line === "send c")).toHaveLength(1);
    await other.stop();
  });

  test("a run that takes longer than its workflow allows fails with TIMEOUT", async () => {
    const run = await node.start(limited);
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ state: "failed", cause: { code: "TIMEOUT" } });
  });

  test("a step that takes longer than its timeout is aborted and fails", async () => {
    const run = await node.start(impatient);
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { code: "STEP_TIMEOUT" } });
  });

  test("code that no longer makes a recorded call quarantines the run, with its journal untouched and resumable", async () => {
    const v1 = workflow("change", { queue: "change" }, async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.sleep("nap", 200);
      return "v1";
    });
    const renamed = workflow("change", { queue: "change" }, async (ctx) => {
      await ctx.step("b", () => 1);
      return "v2";
    });
    const first = await bench.open({ programs: [v1] });
    const run = await first.start(v1);
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("parked");
    await first.stop();
    const second = await bench.open({ programs: [renamed] });
    await expect.poll(() => quarantinedWith(bench.store, run.id), { timeout: 5_000 }).toBe("JOURNAL_MISMATCH");
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(entries.at(-1)).toMatchObject({ kind: "misfit", name: second.build });
    expect(entries.some(({ name }) => name === "b")).toBe(false);
    const { details } = JSON.parse(entries.at(-1)!.payload!.data);
    expect(details).toMatchObject({ recorded: [{ name: "a" }], asked: ['step "b"'] });
    await second.stop();
  });

  test("a run continues with a step added at its end, and with parallel steps in another order", async () => {
    const v1 = workflow("grow", { queue: "grow" }, async (ctx) => {
      await Promise.all([ctx.step("x", () => 1), ctx.step("y", () => 2)]);
      await ctx.sleep("nap", 150);
      return "v1";
    });
    const v2 = workflow("grow", { queue: "grow" }, async (ctx) => {
      await Promise.all([ctx.step("y", () => 9), ctx.step("x", () => 9)]);
      await ctx.sleep("nap", 150);
      return `v2 ${await ctx.step("new", () => 3)}`;
    });
    const first = await bench.open({ programs: [v1] });
    const run = await first.start(v1);
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("parked");
    await first.stop();
    const second = await bench.open({ programs: [v2] });
    expect(await second.run(run.id).result({ timeout: "5s" })).toBe("v2 3");
    await second.stop();
  });
});
