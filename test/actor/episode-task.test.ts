// DAGs of episodes: how the failure of an episode affects the DAG, and one live instance per key.

import { expect, test } from "vitest";
import { actor } from "../../src/actor/actor.js";
import { episode } from "../../src/actor/episode-task.js";
import { expectation } from "../../src/actor/expectation.js";
import { dag } from "../../src/dag/dag.js";
import { task } from "../../src/dag/task.js";
import { PermanentError } from "../../src/replay/step-error.js";
import { onBothStores } from "../workflow/node-suite.js";

const wait = { timeout: 10_000 };
class Hopeless extends PermanentError {
  override readonly code = "HOPELESS";
}

onBothStores((bench) => {
  let fails = 0;
  const tried: number[] = [];
  const worker = actor("worker", {
    concurrency: 2,
    expectations: {
      check: expectation({ retry: 1 }, async (ctx, n: number) =>
        ctx.step("check", () => {
          tried.push(n);
          if (fails-- > 0) throw n < 0 ? new Hopeless("no use") : new Error("not yet");
          return n * 2;
        }),
      ),
    },
  });
  const { check } = worker.expectations;
  const first = task(async (_ctx, n: number) => n + 1);
  const input = ({ first }: { first: number }) => first;
  const aborts = dag("aborts", { first, check: episode(check, { needs: { first }, input }) });
  const retries = dag("retries", {
    first,
    check: episode(check, { needs: { first }, input, onFailure: { attempts: 3, delay: 20, notAfter: ["HOPELESS"] } }),
  });
  const pauses = dag("pauses", { check: episode(check, { input: (_needs, n: number) => n, onFailure: "pause" }) });
  const later = dag("later", {
    check: episode(check, { input: (_needs, n: number) => n, onFailure: { attempts: 2, delay: "1h" } }),
  });
  const open = () => bench.open({ programs: [worker, aborts, retries, pauses, later] });

  test("an episode gets the results of its needs, and its result is the task's", async () => {
    const node = await open();
    fails = 0;
    const run = await node.start(aborts, 20);
    expect(await run.result({ timeout: "10s" })).toEqual({ first: 21, check: 42 });
    await node.stop();
  });

  test("abort: a failed episode fails the DAG, with its cause", async () => {
    const node = await open();
    fails = 1;
    tried.length = 0;
    const run = await node.start(aborts, 1);
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ state: "failed" });
    expect(tried).toEqual([2]);
    await node.stop();
  });

  test("retry: another episode is started, up to the limit, but not after a permanent error", async () => {
    const node = await open();
    fails = 2;
    tried.length = 0;
    const run = await node.start(retries, 1);
    expect(await run.result({ timeout: "10s" })).toEqual({ first: 2, check: 4 });
    expect(tried).toEqual([2, 2, 2]);
    fails = 9;
    tried.length = 0;
    await expect((await node.start(retries, 1)).result({ timeout: "10s" })).rejects.toMatchObject({ state: "failed" });
    expect(tried).toEqual([2, 2, 2]);
    tried.length = 0;
    await expect((await node.start(retries, -9)).result({ timeout: "10s" })).rejects.toMatchObject({ state: "failed" });
    expect(tried).toEqual([-8]);
    await node.stop();
  });

  test("episodes that fail at the same moment are not all tried again at the same moment (F66)", async () => {
    const node = await open();
    fails = 8;
    const runs = await Promise.all(Array.from({ length: 8 }, (_, n) => node.start(later, n)));
    const wakes = async () => {
      const filter = { env: "default", program: "later::check", states: ["parked"] } as const;
      const { runs: parked } = await bench.store.runs.list(filter, { limit: 20 });
      return parked.flatMap(({ wakeAt }) => wakeAt ?? []);
    };
    await expect.poll(async () => (await wakes()).length, wait).toBe(runs.length);
    const times = (await wakes()).map((at) => at - Date.now());
    expect(Math.max(...times)).toBeLessThanOrEqual(3_600_000);
    expect(Math.min(...times)).toBeGreaterThan(0.79 * 3_600_000);
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(60_000);
    fails = 0;
    await Promise.all(runs.map((run) => run.cancel()));
    await node.stop();
  });

  test("pause: the DAG waits, across a restart, until it is resumed or aborted", async () => {
    const node = await open();
    fails = 1;
    tried.length = 0;
    const run = await node.start(pauses, 7);
    const asked = async () => {
      const { runs } = await bench.store.runs.list({ env: "default", program: "pauses::check" }, { limit: 5 });
      const open = runs.filter(({ state, parentId }) => state === "parked" && parentId === run.id);
      const log = open[0] && (await bench.store.journal.read(open[0].id));
      return log?.entries.some(({ kind }) => kind === "approval.begun") ? open[0]!.id : null;
    };
    await expect.poll(asked, wait).not.toBeNull();
    const taskId = (await asked())!;
    await node.stop();
    const other = await open();
    await other.run(taskId).decide("resume", { choice: "resume", by: "ann" });
    expect(await other.run(run.id).result({ timeout: "10s" })).toEqual({ check: 14 });
    expect(tried).toEqual([7, 7]);
    await other.stop();
  });

  test("one live instance per key: a second start returns the live one; after its end a start creates a new one", async () => {
    const node = await open();
    fails = 0;
    const options = { key: "subject:r-7", once: "while live" } as const;
    const starts = await Promise.all([1, 1, 1].map((n) => node.start(aborts, n, options)));
    expect(new Set(starts.map(({ id }) => id)).size).toBe(1);
    await starts[0]!.result({ timeout: "10s" });
    const next = await node.start(aborts, 2, options);
    expect(next.id).not.toBe(starts[0]!.id);
    expect(await next.result({ timeout: "10s" })).toEqual({ first: 3, check: 6 });
    await node.stop();
  });
});
