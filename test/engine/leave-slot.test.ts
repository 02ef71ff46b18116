// When a run gives back its slot: as soon as its function has ended, while its outcome is still being written.

import { expect, test } from "vitest";
import { createNode } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { workflow } from "../../src/workflow/workflow.js";
import { deferred } from "../harness/deferred.js";

/** A store whose commits are answered only after `open()`. */
function slowStore() {
  const store = memoryStore();
  const gate = deferred<void>();
  const sent: string[] = [];
  const commit: Store["runs"]["commit"] = async (commits) => {
    sent.push(...commits.flatMap(({ effects }) => effects.map(({ kind }) => kind)));
    await gate.promise;
    return store.runs.commit(commits);
  };
  return { store: { ...store, runs: { ...store.runs, commit } } as Store, sent, open: () => gate.resolve(undefined) };
}

const ONE_SLOT = { concurrency: 1, flow: { prefetch: 1 } } as const;

test("the next run begins while the outcome of the one before it is written", async () => {
  const { store, sent, open } = slowStore();
  const begun: number[] = [];
  const quick = workflow("quick", async (_ctx, n: number) => void begun.push(n));
  const node = await createNode({ store, programs: [quick], ...ONE_SLOT });
  const runs = await Promise.all([1, 2].map((n) => node.start(quick, n)));
  await expect.poll(() => begun.length).toBe(2);
  expect(sent).toEqual(["complete"]);
  open();
  await Promise.all(runs.map((run) => run.result()));
  await node.stop();
});

test("a run keeps its slot while the result of a step is written", async () => {
  const { store, sent, open } = slowStore();
  const begun: number[] = [];
  const stepped = workflow("stepped", async (ctx, n: number) => {
    begun.push(n);
    await ctx.step("one", () => n);
  });
  const node = await createNode({ store, programs: [stepped], ...ONE_SLOT });
  const runs = await Promise.all([1, 2].map((n) => node.start(stepped, n)));
  await expect.poll(() => sent).toEqual(["append"]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(begun).toHaveLength(1);
  open();
  await Promise.all(runs.map((run) => run.result()));
  await node.stop();
});

test("functions of no more runs than there are slots are at work at once", async () => {
  const store = memoryStore();
  let active = 0;
  let most = 0;
  const go = signal<null>("go");
  const counted = workflow("counted", async (ctx, parks: boolean) => {
    if (parks) await ctx.waitFor(go);
    most = Math.max(most, ++active);
    await new Promise((resolve) => setTimeout(resolve, 1));
    active--;
  });
  const node = await createNode({ store, programs: [counted], concurrency: 3, flow: { prefetch: 3 } });
  const runs = await Promise.all(Array.from({ length: 60 }, (_, n) => node.start(counted, n % 3 === 0)));
  await Promise.all(runs.filter((_, n) => n % 3 === 0).map((run) => run.signal(go, null)));
  await Promise.all(runs.map((run) => run.result()));
  expect(most).toBe(3);
  await node.stop();
});
