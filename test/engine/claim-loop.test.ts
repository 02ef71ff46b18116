// When a claim loop claims: on a wake, when a run is due, and no more often than necessary.

import { randomUUID } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { ClaimLoop } from "../../src/engine/claiming/claim-loop.js";
import type { EngineEvents } from "../../src/engine/events.js";
import { resolveSettings } from "../../src/kernel/setting/settings.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { ClaimedRun, ClaimRequest, RunStore } from "../../src/store/contract/run/runs.js";
import { createBus } from "../../src/telemetry/bus.js";

/** So slow that nothing seen here is a poll. */
const SLOW = resolveSettings({ timing: { pollInterval: "60s", pollMax: "60s" } }).settings;
const loops: ClaimLoop[] = [];
afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()));
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A loop over a store that grants these numbers of runs, one per claim, then none. */
function loopOver({
  size = 3,
  answers = [] as number[],
  nextDue = async (): Promise<number | null> => null,
  peers = 1,
  answerMs = 0,
  prefetch = null as number | null,
  suspects = 0 as 0 | 1,
}) {
  const looks: number[] = [];
  const recents: (number | null)[] = [];
  const ends: (() => void)[] = [];
  const store = {
    claim: async ({ limit, recentMs = null }: ClaimRequest) => {
      looks.push(limit);
      recents.push(recentMs);
      if (recentMs === null && answerMs > 0) await pause(answerMs);
      return Array.from({ length: answers.shift() ?? 0 }, () => ({ runId: randomUUID() }) as ClaimedRun);
    },
    nextDue,
  } as unknown as RunStore;
  const loop = new ClaimLoop({
    store,
    settings: { ...SLOW, prefetch },
    world: systemWorld(),
    bus: createBus<EngineEvents>(),
    owner: randomUUID(),
    size,
    groupIds: () => [1],
    mayClaimAhead: () => true,
    lent: () => 0,
    peers: () => peers,
    solitary: { isClosed: false, mayPrefetch: true, ask: () => suspects, answered: () => {}, left: () => {} },
    onClaimed: () => new Promise<void>((resolve) => ends.push(resolve)),
  });
  loops.push(loop);
  loop.start();
  return { loop, looks, recents, ends };
}

test("a run that became due after the last claim is claimed at once, not at the next poll", async () => {
  const answers = [0, 1];
  // Due for a millisecond: after the claim, before the query for the next due time.
  const { looks } = loopOver({ answers, nextDue: async () => (answers.length > 0 ? -1 : null) });
  await expect.poll(() => looks.length, { timeout: 2_000 }).toBeGreaterThanOrEqual(2);
  expect(answers).toEqual([]);
});

test("a due run that was not granted may be locked: the loop claims again soon, then less and less often", async () => {
  const { loop, looks } = loopOver({ nextDue: async () => -60_000 });
  await expect.poll(() => looks.length, { timeout: 2_000, interval: 1 }).toBeGreaterThanOrEqual(3);
  await pause(500);
  // After 20, 40, 80, 160 and 320 ms, and a little more each time.
  expect(looks.length).toBeLessThanOrEqual(6);
  const before = looks.length;
  loop.wake();
  await expect.poll(() => looks.length - before, { timeout: 500, interval: 1 }).toBeGreaterThanOrEqual(4);
});

test("a full node claims at once when a slot is free; with free slots left it claims soon, once for all runs that end together", async () => {
  const full = loopOver({ size: 2, answers: [2] });
  await expect.poll(() => full.ends.length).toBe(2);
  await pause(50);
  expect(full.looks).toEqual([2]);
  full.ends[0]!();
  await new Promise((resolve) => setImmediate(resolve));
  expect(full.looks).toEqual([2, 1]);

  const roomy = loopOver({ size: 50, answers: [3] });
  await expect.poll(() => roomy.ends.length).toBe(3);
  await pause(50);
  expect(roomy.looks).toHaveLength(1);
  for (const end of roomy.ends) end();
  await expect.poll(() => roomy.looks.length, { timeout: 2_000 }).toBe(2);
  await pause(50);
  expect(roomy.looks).toHaveLength(2);
});

test("a loop that is stopped in a pause ends, and claims no more", async () => {
  const { loop, looks } = loopOver({ size: 50, answers: [1] });
  await pause(50);
  await loop.stop();
  const before = looks.length;
  loop.wake();
  await pause(50);
  expect([looks.length, loop.claiming]).toEqual([before, false]);
});

test("after a pause a node claims its share, then claims again for all its free slots", async () => {
  const { looks } = loopOver({ size: 20, peers: 4, answers: [5, 2, 2, 2, 9] });
  await expect.poll(() => looks.length, { timeout: 2_000 }).toBe(5);
  await pause(50);
  expect(looks).toEqual([5, 2, 2, 2, 9]);
});

test("a node that gets less than its share claims no further, and claims its share the next time, too", async () => {
  const { loop, looks } = loopOver({ size: 20, peers: 4, answers: [3, 4] });
  await pause(50);
  expect(looks).toEqual([5]);
  loop.wake();
  await pause(50);
  expect(looks).toEqual([5, 5]);
});

test("wakes do not shorten the pause in which others take their share", async () => {
  const { loop, looks } = loopOver({ size: 20, peers: 4, answers: [5, 2, 2, 2, 9] });
  const startedAt = performance.now();
  const waking = setInterval(() => loop.wake(), 1);
  await expect.poll(() => looks.length, { timeout: 2_000, interval: 1 }).toBeGreaterThanOrEqual(5);
  clearInterval(waking);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(70);
});

test("under a backlog a node that was full for a while claims for all its free slots, without a pause", async () => {
  const { looks, ends } = loopOver({ size: 20, peers: 4, answers: [5, 2, 2, 2, 9, 3, 1] });
  await expect.poll(() => looks.length, { timeout: 2_000 }).toBe(5);
  await pause(50);
  for (const end of ends.slice(0, 3)) end();
  await new Promise((resolve) => setImmediate(resolve));
  expect(looks).toEqual([5, 2, 2, 2, 9, 3]);
});

test("a node that claims ahead claims nothing ahead with a suspect, and the rest at once, without a pause for others", async () => {
  const { looks, ends } = loopOver({ size: 4, prefetch: 3, suspects: 1, answers: [4, 3] });
  await expect.poll(() => ends.length, { interval: 1 }).toBeGreaterThanOrEqual(4);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(looks).toEqual([4, 3]);
});

test("where claims are answered slowly, the pause in which other nodes take their share is longer", async () => {
  const { looks } = loopOver({ size: 20, peers: 4, answers: [5, 2], answerMs: 60 });
  const startedAt = performance.now();
  await expect.poll(() => looks.length, { timeout: 5_000, interval: 1 }).toBe(2);
  // The answer, and three times as long.
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(200);
});

test("while looks are slow, a wake looks at recent runs only, and a look at all follows by itself", async () => {
  const { loop, recents } = loopOver({ answerMs: 40 });
  await expect.poll(() => recents.length).toBe(1);
  await pause(60);
  loop.wake([1]);
  await expect.poll(() => recents.length).toBe(2);
  expect(recents).toEqual([null, expect.any(Number)]);
  expect(recents[1]).toBeGreaterThan(5_000);
  await expect.poll(() => recents.length, { timeout: 2_000 }).toBe(3);
  expect(recents[2]).toBe(null);
});

test("a caller that asks what a look takes gets one at all runs, however slow it is", async () => {
  const { loop, recents } = loopOver({ answerMs: 40 });
  await expect.poll(() => recents.length).toBe(1);
  await pause(60);
  expect(await loop.look()).toBe(0);
  expect(recents).toEqual([null, null]);
});

test("a wake of the node itself, as for runs that it reclaimed, looks at all runs, however slow that is", async () => {
  const { loop, recents } = loopOver({ answerMs: 40 });
  await expect.poll(() => recents.length).toBe(1);
  await pause(60);
  loop.wake();
  await expect.poll(() => recents.length).toBe(2);
  await pause(60);
  loop.wake([], "new");
  await expect.poll(() => recents.length).toBe(3);
  expect(recents).toEqual([null, null, expect.any(Number)]);
});
