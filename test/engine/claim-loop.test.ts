// When a claim loop looks for work: at a hint, when something is due, and no oftener than it must.

import { randomUUID } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { ClaimLoop } from "../../src/engine/claiming/claim-loop.js";
import type { EngineEvents } from "../../src/engine/events.js";
import { resolveSettings } from "../../src/kernel/setting/settings.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { ClaimedRun, RunStore } from "../../src/store/contract/run/runs.js";
import { createBus } from "../../src/telemetry/bus.js";

/** So slow that nothing of what is seen here is a poll. */
const SLOW = resolveSettings({ timing: { pollInterval: "60s", pollMax: "60s" } }).settings;
const loops: ClaimLoop[] = [];
afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()));
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A loop over a store that answers its looks with so many runs, one number after the other, then none. */
function loopOver({
  size = 3,
  answers = [] as number[],
  nextDue = async (): Promise<number | null> => null,
  peers = 1,
}) {
  const looks: number[] = [];
  const ends: (() => void)[] = [];
  const store = {
    claim: async ({ limit }: { limit: number }) => {
      looks.push(limit);
      return Array.from({ length: answers.shift() ?? 0 }, () => ({ runId: randomUUID() }) as ClaimedRun);
    },
    nextDue,
  } as unknown as RunStore;
  const loop = new ClaimLoop({
    store,
    settings: SLOW,
    world: systemWorld(),
    bus: createBus<EngineEvents>(),
    owner: randomUUID(),
    size,
    groupIds: () => [1],
    peers: () => peers,
    solitary: { isClosed: false, mayPrefetch: true, ask: () => 0, answered: () => {}, left: () => {} },
    onClaimed: () => new Promise<void>((resolve) => ends.push(resolve)),
  });
  loops.push(loop);
  loop.start();
  return { loop, looks, ends };
}

test("what became due after the last look is looked for at once, not at the next poll", async () => {
  const answers = [0, 1];
  // Due since a millisecond: after the look, before the question.
  const { looks } = loopOver({ answers, nextDue: async () => (answers.length > 0 ? -1 : null) });
  await expect.poll(() => looks.length, { timeout: 2_000 }).toBeGreaterThanOrEqual(2);
  expect(answers).toEqual([]);
});

test("what was due before the last look and was not handed out is left to the next poll", async () => {
  const { looks } = loopOver({ nextDue: async () => -60_000 });
  await pause(200);
  expect(looks).toHaveLength(1);
});

test("when a full node gets a free slot it looks at once; with room left, soon, and once for all that end together", async () => {
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

test("a loop that is stopped in a pause ends, and looks no more", async () => {
  const { loop, looks } = loopOver({ size: 50, answers: [1] });
  await pause(50);
  await loop.stop();
  const before = looks.length;
  loop.hint();
  await pause(50);
  expect([looks.length, loop.claiming]).toEqual([before, false]);
});

test("after a pause a node asks for its share, looks again, and then takes all it has room for", async () => {
  const { looks } = loopOver({ size: 20, peers: 4, answers: [5, 2, 2, 2, 9] });
  await expect.poll(() => looks.length, { timeout: 2_000 }).toBe(5);
  await pause(50);
  expect(looks).toEqual([5, 2, 2, 2, 9]);
});

test("a node that finds less than its share looks no further, and asks for its share the next time, too", async () => {
  const { loop, looks } = loopOver({ size: 20, peers: 4, answers: [3, 4] });
  await pause(50);
  expect(looks).toEqual([5]);
  loop.hint();
  await pause(50);
  expect(looks).toEqual([5, 5]);
});

test("hints do not shorten the pause in which others take their share", async () => {
  const { loop, looks } = loopOver({ size: 20, peers: 4, answers: [5, 2, 2, 2, 9] });
  const startedAt = performance.now();
  const hinting = setInterval(() => loop.hint(), 1);
  await expect.poll(() => looks.length, { timeout: 2_000, interval: 1 }).toBeGreaterThanOrEqual(5);
  clearInterval(hinting);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(70);
});

test("under a backlog a node that has no room for a while takes all it has room for, without a pause", async () => {
  const { looks, ends } = loopOver({ size: 20, peers: 4, answers: [5, 2, 2, 2, 9, 3, 1] });
  await expect.poll(() => looks.length, { timeout: 2_000 }).toBe(5);
  await pause(50);
  for (const end of ends.slice(0, 3)) end();
  await new Promise((resolve) => setImmediate(resolve));
  expect(looks).toEqual([5, 2, 2, 2, 9, 3]);
});
