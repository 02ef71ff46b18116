// What a cancelled workflow may still do: catch it, clean up, compensate, each once, whatever happens to its node.

import { expect, test } from "vitest";
import { Cancelled } from "../../src/replay/cancellation.js";
import { signal } from "../../src/replay/signal.js";
import { PermanentError } from "../../src/replay/step-error.js";
import { type TestNode, testNode } from "../../src/testing/index.js";
import { workflow } from "../../src/workflow/workflow.js";

const go = signal<string>("go");
/** The entries of a run, each with its name. */
async function logOf({ store }: TestNode, runId: string): Promise<readonly string[]> {
  const { entries } = (await store.journal.read(runId))!;
  return entries.map(({ kind, name }) => (name ? `${kind} ${name}` : kind));
}

async function childrenOf({ store }: TestNode, runId: string): Promise<readonly string[]> {
  const { entries } = (await store.journal.read(runId))!;
  return entries.flatMap(({ kind, key }) => (kind === "enqueue" ? key! : []));
}

test("a parked run is cancelled by its code: catch, finally and clean-up run, then it is cancelled", async () => {
  const done: string[] = [];
  const order = workflow("order", async (ctx) => {
    await ctx.step("reserve", () => done.push("reserve"));
    try {
      await ctx.waitFor(go);
    } catch (error) {
      if (!(error instanceof Cancelled)) throw error;
      done.push(`caught ${error.code} ${error.reason}`);
      await expect(ctx.step("ordinary", () => done.push("ordinary"))).rejects.toThrow(Cancelled);
      await expect(ctx.continueAsNew(undefined)).rejects.toThrow(Cancelled);
      await ctx.cleanup(async () => {
        await ctx.sleep("a while", "5s");
        await ctx.step("release", () => done.push("release"));
      });
      throw error;
    } finally {
      done.push("finally");
    }
  });
  await using node = await testNode({ programs: [order] });
  const run = await node.start(order);
  await run.untilParked();
  expect(await run.cancel({ by: "ann", reason: "changed my mind" })).toEqual({
    outcome: "requested",
    acknowledged: true,
  });
  await expect(run.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  // It parked within its clean-up: the code before that ran twice, the steps did not.
  const caught = "caught CANCELLED requested";
  expect(done).toEqual(
    ["reserve", caught, caught, caught, "release", "finally"].filter((one, i) => i < 3 || one !== caught),
  );
  expect(await logOf(node, run.id)).toEqual(
    expect.arrayContaining(["take cancel", "cancelling cancel", "step release", "cancelled"]),
  );
  expect(await run.cancel()).toEqual({ outcome: "cancelled" });
});

test("compensations run in reverse, once each, after a crash of the node at every write", async () => {
  for (let crashAt = 1; crashAt <= 8; crashAt++) {
    const done: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      for (const name of ["hotel", "car", "flight"]) {
        await ctx.step(name, () => void done.push(name));
        ctx.onCancel(
          `undo ${name}`,
          ({ idempotencyKey }) => void done.push(`undo ${name} ${idempotencyKey.length > 0}`),
        );
      }
      const forget = ctx.onCancel("never", () => void done.push("never"));
      forget();
      await ctx.waitFor(go);
    });
    await using node = await testNode({ programs: [saga] });
    const run = await node.start(saga);
    await run.untilParked();
    let commits = 0;
    let back: Promise<void> | null = null;
    const { commit } = node.store.runs;
    // Written, and the node dies before it knows.
    node.store.runs.commit = async (list) => {
      const answers = await commit.call(node.store.runs, list);
      if (++commits === crashAt) back = node.crash().then(() => node.restart());
      return answers;
    };
    await run.cancel();
    await back;
    expect(commits).toBeGreaterThanOrEqual(Math.min(crashAt, 3));
    await expect(run.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    const undone = (await logOf(node, run.id)).filter((one) => one.startsWith("step undo"));
    expect(undone).toEqual(["step undo flight", "step undo car", "step undo hotel"]);
    expect(new Set(done).size).toBe(6);
  }
});

test("a timeout cleans up and compensates, and the run is failed with TIMEOUT; its retry only repeats the end", async () => {
  const done: string[] = [];
  const late = workflow("late", { timeout: "10s" }, async (ctx) => {
    ctx.onCancel("undo", () => void done.push("undo"));
    await ctx.sleep("too long", "1h");
  });
  const bare = workflow("bare", { timeout: "10s" }, async (ctx) => {
    await ctx.sleep("too long", "15s");
    return "in the second time";
  });
  await using node = await testNode({ programs: [late, bare] });
  const run = await node.start(late);
  await expect(run.result()).rejects.toMatchObject({ cause: { code: "TIMEOUT" } });
  expect(done).toEqual(["undo"]);
  await node.dead.retry([run.id]);
  await expect(run.result()).rejects.toMatchObject({ cause: { code: "TIMEOUT" } });
  expect(done).toEqual(["undo"]);
  const other = await node.start(bare);
  await expect(other.result()).rejects.toMatchObject({ cause: { code: "TIMEOUT" } });
  await node.dead.retry([other.id]);
  expect(await other.result()).toBe("in the second time");
});

test("clean-up that hangs ends with its time; one that fails is a dead letter whose retry continues it", async () => {
  let broken = true;
  const done: string[] = [];
  const hangs = workflow("hangs", { cleanupTimeout: "30s" }, async (ctx) => {
    try {
      await ctx.waitFor(go);
    } finally {
      await ctx.cleanup(() => ctx.waitFor(go));
    }
  });
  const fails = workflow("fails", async (ctx) => {
    ctx.onCancel("first", () => void done.push("first"));
    ctx.onCancel("second", { retry: 1 }, () => {
      if (broken) throw new PermanentError("no refund today");
      done.push("second");
    });
    await ctx.waitFor(go);
  });
  await using node = await testNode({ programs: [hangs, fails] });
  const stuck = await node.start(hangs);
  await stuck.untilParked();
  const before = node.now.getTime();
  await stuck.cancel();
  await expect(stuck.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  expect(node.now.getTime() - before).toBeGreaterThanOrEqual(30_000);
  const run = await node.start(fails);
  await run.untilParked();
  await run.cancel();
  await expect(run.result()).rejects.toMatchObject({ cause: { code: "COMPENSATION_FAILED" } });
  expect(done).toEqual([]);
  broken = false;
  await node.dead.retry([run.id]);
  await expect(run.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  expect(done).toEqual(["second", "first"]);
});

test("a step at work is aborted and waited for; its result does not count, unless it says so", async () => {
  const seen: string[] = [];
  let begun = () => {};
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const works = workflow("works", async (ctx) => {
    const kept = ctx.step("kept", { finishOnAbort: true }, ({ signal: { aborted } }) => `aborted ${aborted}`);
    await kept;
    const work = ctx.step("work", async ({ signal: stop }) => {
      begun();
      await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve()));
      seen.push((stop.reason as Cancelled).code);
      return "partial";
    });
    await work.catch((error: Cancelled) => seen.push(`threw ${error.code}`));
    await ctx.step("next", () => seen.push("next"));
  });
  await using node = await testNode({ programs: [works] });
  const run = await node.start(works);
  const ended = run.result().catch((error: { code: string }) => error.code);
  await isBegun;
  await run.cancel();
  expect(await ended).toBe("RUN_CANCELLED");
  expect(seen).toEqual(["CANCELLED", "threw CANCELLED"]);
  expect(await logOf(node, run.id)).not.toContain("step work");
});

test("children end with their parent, unless they are abandoned; a paused run is cancelled, too", async () => {
  const child = workflow("child", async (ctx) => ctx.waitFor(go));
  const parent = workflow("parent", async (ctx) => {
    const left = ctx.child(child, undefined, { onParentEnd: "abandon" });
    await Promise.all([left, ctx.child(child, undefined)]);
  });
  const leaves = workflow("leaves", async (ctx) => {
    void ctx.child(child, undefined);
    await ctx.sleep("until it is started", "1s");
    return "done";
  });
  await using node = await testNode({ programs: [parent, child, leaves] });
  const run = await node.start(parent);
  await run.untilParked();
  await run.pause();
  await run.cancel();
  await expect(run.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  const [abandoned, other] = await childrenOf(node, run.id);
  expect((await node.run(abandoned!).status()).state).toBe("parked");
  await expect(node.run(other!).result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  const early = await node.start(leaves);
  expect(await early.result()).toBe("done");
  const [last] = await childrenOf(node, early.id);
  await expect(node.run(last!).result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
});

test("a run that has not begun is cancelled at once", async () => {
  const later = workflow("later", async () => {});
  await using node = await testNode({ programs: [later] });
  const run = await node.start(later, undefined, { delay: "1h" });
  expect(await run.cancel()).toEqual({ outcome: "cancelled" });
});
