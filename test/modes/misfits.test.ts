// Runs that the code of a node does not fit: left to other code, quarantined while there is none, and nothing that waits for them fails.

import { expect, test } from "vitest";
import { doing, surroundings } from "../../src/cli/run-situation.js";
import { dag } from "../../src/dag/dag.js";
import { task } from "../../src/dag/task.js";
import { deriveBuild } from "../../src/node/derive-build.js";
import { signal } from "../../src/replay/signal.js";
import { workflow } from "../../src/workflow/workflow.js";
import { quarantinedWith } from "../harness/quarantined.js";
import { onBothStores } from "../workflow/node-suite.js";

const go = signal("go");
const soon = { timeout: 15_000, interval: 20 };

const v1 = workflow("child", async (ctx) => {
  await ctx.step("a", () => 1);
  await ctx.waitFor(go);
  await ctx.step("b", () => 2);
  return "v1";
});
const v2 = workflow("child", async (ctx) => {
  await ctx.step("other", () => 1);
  await ctx.waitFor(go);
  return "v2";
});
const parent = workflow("parent", async (ctx) => ctx.child(v1, undefined));

onBothStores((bench) => {
  test("a parent waits for its quarantined child, which continues when a node with fitting code starts", async () => {
    const first = await bench.open({ programs: [v1, parent] });
    const run = await first.start(parent);
    const childOf = async () =>
      (await bench.store.journal.read(run.id))!.entries.find(({ kind }) => kind === "enqueue")?.key ?? null;
    await expect.poll(childOf, soon).not.toBe(null);
    const child = (await childOf())!;
    await expect.poll(async () => (await first.run(child).status()).state, soon).toBe("parked");
    await first.stop();

    const claimed: string[] = [];
    const second = await bench.open({ programs: [v2, parent] });
    second.on("run.claimed", ({ runId }) => claimed.push(runId));
    await second.run(child).signal(go);
    await expect.poll(() => quarantinedWith(bench.store, child), soon).toBe("JOURNAL_MISMATCH");
    // A second signal is stored, and the node whose code does not fit does not claim the run.
    await second.run(child).signal(go);
    expect(await second.runUntilIdle({ timeout: "5s" })).toMatchObject({ idle: true, worked: 0 });
    expect(claimed.filter((id) => id === child)).toHaveLength(1);
    const status = await second.run(child).status();
    expect(status).toMatchObject({ crashes: 0, failures: 0, misfit: { builds: [second.build] } });
    expect(status.liveBuilds).toEqual([second.build]);
    const nodes = await bench.store.nodes.list({ env: "default" });
    const said = doing(status, surroundings(nodes), Date.now());
    expect(said).toContain(`does not fit: ${second.build}; live builds: ${second.build}`);
    expect((await second.run(run.id).status()).state).toBe("parked");

    const third = await bench.open({ programs: [v1, parent] });
    expect(await third.run(run.id).result({ timeout: "15s" })).toBe("v1");
    await Promise.all([second.stop(), third.stop()]);
  });

  test("a DAG waits for its quarantined task, and ends when it is cancelled or continues", async () => {
    const tasks = (name: string) =>
      dag("waits", {
        only: task(async (ctx) => {
          await ctx.step(name, () => 1);
          await ctx.waitFor(go);
          return name;
        }),
      });
    const first = await bench.open({ programs: [tasks("old")], identity: { build: "1" } });
    const runs = await Promise.all([1, 2].map(() => first.start(tasks("old"))));
    const taskOf = async (id: string) =>
      (await bench.store.journal.read(id))!.entries.find(({ kind }) => kind === "task")?.key ?? null;
    const ids: string[] = [];
    for (const { id } of runs) {
      await expect.poll(() => taskOf(id), soon).not.toBe(null);
      ids.push((await taskOf(id))!);
      await expect.poll(async () => (await first.run(ids.at(-1)!).status()).state, soon).toBe("parked");
    }
    await first.stop();
    const second = await bench.open({ programs: [tasks("new")], identity: { build: "2" } });
    for (const id of ids) await second.run(id).signal(go);
    for (const id of ids) await expect.poll(() => quarantinedWith(bench.store, id), soon).toBe("JOURNAL_MISMATCH");
    for (const { id } of runs) expect(await second.run(id).status()).toMatchObject({ state: "parked", pending: 1 });
    await second.run(runs[0]!.id).cancel();
    await expect.poll(async () => (await second.run(runs[0]!.id).status()).state, soon).toBe("cancelled");
    const third = await bench.open({ programs: [tasks("old")], identity: { build: "3" } });
    expect(await third.run(runs[1]!.id).result({ timeout: "15s" })).toEqual({ only: "old" });
    await Promise.all([second.stop(), third.stop()]);
  });
});

test("a missing build is derived from the code: equal for equal code, different for different code", () => {
  const one = () => workflow("w", async (ctx) => ctx.step("a", () => 1));
  const other = workflow("w", async (ctx) => ctx.step("b", () => 1));
  expect(deriveBuild([one()])).toBe(deriveBuild([one()]));
  expect(deriveBuild([one()])).not.toBe(deriveBuild([other]));
  const tasks = (step: string) =>
    step === "a"
      ? dag("d", { t: task(async (ctx) => ctx.step("a", () => 1)) })
      : dag("d", { t: task(async (ctx) => ctx.step("b", () => 1)) });
  expect(deriveBuild([tasks("a")])).not.toBe(deriveBuild([tasks("b")]));
});
