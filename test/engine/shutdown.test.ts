// How a node stops: it begins nothing, running steps may end, then they are aborted; runs without a running step are handed back.

import { expect, test } from "vitest";
import { createNode } from "../../src/node/create-node.js";
import type { StepInfo } from "../../src/replay/step-call.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { workflow } from "../../src/workflow/workflow.js";
import { type Deferred, deferred } from "../harness/deferred.js";
import { onBothStores, QUICK } from "../workflow/node-suite.js";

test("a node whose database is unavailable stops soon after its grace, not when the database is back", async () => {
  const store = memoryStore();
  const away = () => new Promise<never>(() => {});
  const gate = deferred<void>();
  const begun = deferred<void>();
  const work = workflow("work", async (ctx) =>
    ctx.step("hold", () => {
      begun.resolve();
      return gate.promise;
    }),
  );
  let isAway = false;
  const runs = {
    ...store.runs,
    claim: (...all: Parameters<Store["runs"]["claim"]>) => (isAway ? away() : store.runs.claim(...all)),
    commit: (...all: Parameters<Store["runs"]["commit"]>) => (isAway ? away() : store.runs.commit(...all)),
    renew: (...all: Parameters<Store["runs"]["renew"]>) => (isAway ? away() : store.runs.renew(...all)),
  };
  const nodes = { ...store.nodes, stop: away };
  const node = await createNode({ store: { ...store, runs, nodes }, programs: [work], ...QUICK });
  const told: unknown[] = [];
  node.on("node.stopped", ({ left }) => told.push(left));
  await node.start(work);
  await begun.promise;
  isAway = true;
  gate.resolve();
  const at = performance.now();
  await node.stop({ grace: 200 });
  expect(performance.now() - at).toBeLessThan(15_000);
  expect(told).toEqual([1]);
});

test("a node whose goodbye is refused reports it and leaves all the same", async () => {
  const store = memoryStore();
  let isPresent = false;
  const attend: Store["attend"] = async (...all) => {
    const attendance = await store.attend(...all);
    isPresent = true;
    return {
      ...attendance,
      leave: async () => {
        await attendance.leave();
        isPresent = false;
      },
    };
  };
  const refused = new Error("no such schema");
  const nodes = { ...store.nodes, stop: () => Promise.reject(refused) };
  const node = await createNode({
    store: { ...store, attend, nodes },
    programs: [workflow("idle", async () => {})],
    ...QUICK,
  });
  const troubles: unknown[] = [];
  node.on("housekeeping.failed", ({ error }) => troubles.push(error));
  await node.stop();
  expect(isPresent).toBe(false);
  expect(troubles).toEqual([refused]);
});

onBothStores((bench) => {
  let begun: Deferred<StepInfo>;
  let gate: Deferred<unknown>;
  let holding = 0;
  const renew = () => {
    begun = deferred();
    gate = deferred();
  };
  const work = workflow("stop-work", async (ctx, retry: number) => {
    const got = await ctx.step("first", { retry: { attempts: retry, delay: "4s" } }, (step) => {
      begun.resolve(step);
      return gate.promise;
    });
    await ctx.step("second", () => 2);
    return got;
  });
  const once = workflow("stop-once", async (ctx) =>
    ctx.step("first", { atMostOnce: true }, (step) => {
      begun.resolve(step);
      return gate.promise;
    }),
  );
  const queued = workflow("stop-queued", async (ctx) =>
    ctx.step("hold", () => {
      holding++;
      return gate.promise;
    }),
  );
  const kinds = async (id: string) => (await bench.store.journal.read(id))!.entries.map(({ kind }) => kind);

  test("a step that ends within the grace is recorded, no other is begun, and the run is handed back", async () => {
    renew();
    const node = await bench.open({ programs: [work] });
    const told: string[] = [];
    node.on("run.handed_back", ({ runId, program }) => told.push(`${program} ${runId}`));
    node.on("node.stopped", ({ left }) => told.push(`left ${left}`));
    const run = await node.start(work, 3);
    await begun.promise;
    const stopped = node.stop({ grace: "20s" });
    gate.resolve("done");
    await stopped;
    expect(await kinds(run.id)).toEqual(["start", "step", "handed-back"]);
    expect(await run.status()).toMatchObject({ state: "waiting", owner: null, crashes: 0, failures: 0 });
    expect(told).toEqual([`stop-work ${run.id}`, "left 0"]);
    await run.cancel();
  });

  test("a stopping node claims nothing more", async () => {
    renew();
    const node = await bench.open({ programs: [work] });
    await node.start(work, 3);
    await begun.promise;
    const stopped = node.stop({ grace: "20s" });
    const late = await node.start(work, 3);
    gate.resolve("done");
    await stopped;
    expect(await late.status()).toMatchObject({ state: "waiting", epoch: 0 });
    await late.cancel();
  });

  test("after the grace the step is aborted; one that obeys is no failure, and its run is handed back", async () => {
    renew();
    const node = await bench.open({ programs: [work] });
    const run = await node.start(work, 1);
    const { signal } = await begun.promise;
    signal.addEventListener("abort", () => gate.reject(signal.reason));
    expect(signal.aborted).toBe(false);
    await node.stop({ grace: 50 });
    expect(signal.reason).toMatchObject({ code: "NODE_STOPPING" });
    expect(await kinds(run.id)).toEqual(["start", "handed-back"]);

    renew();
    gate.resolve("from the other node");
    const other = await bench.open({ programs: [work] });
    expect(await run.result({ timeout: "10s" })).toBe("from the other node");
    expect((await begun.promise).attempt).toBe(1);
    await other.stop();
  });

  test("the result of a step that was aborted is dropped: its run is handed back without it", async () => {
    renew();
    const node = await bench.open({ programs: [work] });
    const run = await node.start(work, 1);
    const { signal } = await begun.promise;
    signal.addEventListener("abort", () => gate.resolve("a part"));
    await node.stop({ grace: 50 });
    expect(await kinds(run.id)).toEqual(["start", "handed-back"]);
    await run.cancel();
  });

  test("a step that ignores the abort keeps its run: it is not handed back, and its late result is not written", async () => {
    renew();
    const node = await bench.open({ programs: [work], timing: { lease: "60s" } });
    const told: unknown[] = [];
    node.on("node.stopped", ({ left }) => told.push({ left }));
    node.on("claim.lost", (event) => told.push(event));
    const run = await node.start(work, 1);
    await begun.promise;
    await node.stop({ grace: 50 });
    expect(told).toEqual([{ left: 1 }]);
    expect(await run.status()).toMatchObject({ state: "running", owner: node.incarnation });
    gate.resolve("late");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await kinds(run.id)).toEqual(["start"]);
    await run.cancel();
  });

  test("an at-most-once step that fails by the abort has failed", async () => {
    renew();
    const node = await bench.open({ programs: [once] });
    const run = await node.start(once);
    const { signal } = await begun.promise;
    signal.addEventListener("abort", () => gate.reject(signal.reason));
    await node.stop({ grace: 50 });
    expect(await kinds(run.id)).toEqual(["start", "step.begun", "step.failed", "failed"]);
    expect(await run.status()).toMatchObject({ state: "failed" });
  });

  test("a step between two attempts is not waited for", async () => {
    renew();
    gate.reject(new TypeError("try again in four seconds"));
    gate.promise.catch(() => {});
    const node = await bench.open({ programs: [work] });
    const run = await node.start(work, 3);
    await expect.poll(() => kinds(run.id), { timeout: 10_000 }).toEqual(["start", "step.tried"]);
    await node.stop({ grace: "20s" });
    expect(await kinds(run.id)).toEqual(["start", "step.tried", "handed-back"]);
    await run.cancel();
  });

  test("runs claimed ahead wait for a slot, and are handed back at once when the node stops", async () => {
    renew();
    holding = 0;
    const node = await bench.open({ programs: [queued], concurrency: 2, flow: { prefetch: 2 } });
    const outcomes = await node.startMany(
      queued,
      [1, 2, 3, 4, 5].map(() => ({ input: undefined })),
    );
    const runs = outcomes.flatMap((one) => (one.outcome === "started" ? one.run : []));
    const states = async () => (await Promise.all(runs.map((run) => run.status()))).map(({ state }) => state);
    await expect.poll(states, { timeout: 10_000 }).toEqual(["running", "running", "running", "running", "waiting"]);
    await expect.poll(() => holding, { timeout: 10_000 }).toBe(2);
    const back: string[] = [];
    node.on("run.handed_back", ({ runId }) => back.push(runId));
    const stopped = node.stop({ grace: "20s" });
    // The two that work continue; the two that had not begun are free before those end.
    await expect.poll(states, { timeout: 10_000 }).toEqual(["running", "running", "waiting", "waiting", "waiting"]);
    expect(new Set(back)).toEqual(new Set(runs.slice(2, 4).map(({ id }) => id)));
    expect(await kinds(runs[2]!.id)).toEqual(["start", "handed-back"]);
    gate.resolve(null);
    await stopped;
    await Promise.all(runs.map((run) => run.cancel()));
  });

  test("a free slot goes to a run claimed ahead, and no more runs than slots are executed", async () => {
    let now = 0;
    let most = 0;
    const brief = workflow("stop-brief", async (ctx) =>
      ctx.step("count", async () => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setTimeout(resolve, 5));
        now--;
      }),
    );
    const node = await bench.open({ programs: [brief], concurrency: 2, flow: { prefetch: 2 } });
    const started = await node.startMany(
      brief,
      Array.from({ length: 12 }, () => ({ input: undefined })),
    );
    await Promise.all(started.map(async (one) => "run" in one && one.run.result({ timeout: "10s" })));
    expect(most).toBe(2);
    await node.stop();
  });
});
