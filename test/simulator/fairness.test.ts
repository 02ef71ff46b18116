// L6 is able to fail: a run that is skipped, or left although there is room, is detected.

import { expect, test } from "vitest";
import type { NewRun } from "../../src/kernel/run/new-run.js";
import type { ClaimRequest } from "../../src/store/contract/run/runs.js";
import { LEASE_MS, Scene } from "./checkers-scene.js";

const of = (queue: string) => ({ env: "default", stack: null, queue, program: "script", version: null });

/** The old one waits in queue `a` since before the young one came to queue `b`. */
async function oldAndYoung(more: Partial<NewRun> = {}) {
  const s = new Scene();
  const old = await s.insert({ group: of("a"), ...more });
  await s.world.advance(10);
  const young = await s.insert({ group: of("b") });
  const [a, b] = await s.store.runs.groupIds([of("a"), of("b")]);
  const request = (groupIds: readonly number[], limit = 1): ClaimRequest => ({
    owner: s.world.token(),
    token: s.world.token(),
    groupIds,
    limit,
    leaseMs: LEASE_MS,
  });
  return { s, old, young, a: a!, b: b!, request };
}

test("runs claimed in turn, whatever their queue, break nothing", async () => {
  const { s, old, a, b, request } = await oldAndYoung();
  for (const limit of [1, 5]) {
    const asked = request([b, a], limit);
    const granted = await s.store.runs.claim(asked);
    s.tell({ op: "runs.claim", args: [asked], answer: granted });
    if (limit === 1) expect(granted[0]!.runId).toBe(old.id);
  }
  expect(s.broken).toEqual([]);
});

test("a younger run of another queue that is granted first breaks L6", async () => {
  const { s, old, a, b, request } = await oldAndYoung();
  const asked = request([b]);
  const granted = await s.store.runs.claim(asked);
  s.tell({ op: "runs.claim", args: [{ ...asked, groupIds: [a, b] }], answer: granted });
  expect(s.history.violations).toMatchObject([{ invariant: "L6", runId: old.id }]);
});

test("a run that is left although there is room breaks L6", async () => {
  const { s, young, a, b, request } = await oldAndYoung();
  const asked = request([a, b], 1);
  const granted = await s.store.runs.claim(asked);
  s.tell({ op: "runs.claim", args: [{ ...asked, limit: 2 }], answer: granted });
  expect(s.history.violations).toMatchObject([{ invariant: "L6", runId: young.id }]);
});

test.for([
  ["is not due", { delayMs: 60_000 }],
  ["is less urgent", { priority: 5 }],
] as const)("a run that %s may be skipped", async ([, more]) => {
  const { s, young, a, b, request } = await oldAndYoung(more);
  const asked = request([a, b]);
  const granted = await s.store.runs.claim(asked);
  s.tell({ op: "runs.claim", args: [asked], answer: granted });
  expect(granted[0]!.runId).toBe(young.id);
  expect(s.broken).toEqual([]);
});

test("a run in a paused queue may be skipped", async () => {
  const { s, a, b, request } = await oldAndYoung();
  await s.store.queues.pause("default", "a", "ann");
  const asked = request([a, b], 2);
  s.tell({ op: "runs.claim", args: [asked], answer: await s.store.runs.claim(asked) });
  expect(s.broken).toEqual([]);
});

test("a claim of recent runs may leave an older one", async () => {
  const { s, young, a, b, request } = await oldAndYoung();
  const asked = { ...request([a, b], 2), recentMs: 5 };
  const granted = await s.store.runs.claim(asked);
  expect(granted.map(({ runId }) => runId)).toEqual([young.id]);
  s.tell({ op: "runs.claim", args: [asked], answer: granted });
  expect(s.broken).toEqual([]);
});

test("a claim of recent runs that leaves one of that time breaks L6", async () => {
  const { s, old, a, b, request } = await oldAndYoung();
  const asked = { ...request([a, b], 2), recentMs: 5 };
  const granted = await s.store.runs.claim(asked);
  s.tell({ op: "runs.claim", args: [{ ...asked, recentMs: 1_000 }], answer: granted });
  expect(s.history.violations).toMatchObject([{ invariant: "L6", runId: old.id }]);
});
