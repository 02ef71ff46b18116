// Overflow under many real connections: counted under the same lock as the places, so no run is skipped while there is room.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { NewLimit, Overflow, RunGroup } from "../../../src/kernel/run/new-run.js";
import { claimFrom, commitOf, commitOne, complete, group, newRun, scene } from "../scene.js";

const PROCESSES = 6;
const s = scene();
const stores = Array.from({ length: PROCESSES }, () => s.open({ connections: 4 }));

const limited = (max: number, overflow: Overflow): { from: RunGroup; limits: NewLimit[] } => {
  const from = group(`q-${randomUUID()}`);
  return { from, limits: [{ kind: "slots", key: `slots ${from.queue}`, max, overflow }] };
};

const states = async (from: RunGroup) => {
  const rows = await s.rows<{ state: string; n: number }>(
    `select r.state, count(*)::int as n from {s}.runs r join {s}.claim_groups g on g.id = r.claim_group
     where g.queue = $1 group by 1`,
    [from.queue],
  );
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
};

test("drop: of 60 starts from 6 processes at once, as many are accepted as there are places (S15)", async () => {
  for (let round = 0; round < 10; round++) {
    const { from, limits } = limited(3, "drop");
    const starts = Array.from({ length: 60 }, (_, i) =>
      stores[i % PROCESSES]!.runs.insert([newRun({ group: from, limits })]),
    );
    await Promise.all(starts);
    expect(await states(from)).toEqual({ waiting: 3, skipped: 57 });
  }
});

test("shed-oldest: 60 starts at once leave as many at work and as many waiting as allowed", async () => {
  for (let round = 0; round < 10; round++) {
    const { from, limits } = limited(3, "shed-oldest");
    const starts = Array.from({ length: 60 }, (_, i) =>
      stores[i % PROCESSES]!.runs.insert([newRun({ group: from, limits })]),
    );
    await Promise.all(starts);
    expect(await states(from)).toEqual({ waiting: 3, held: 3, skipped: 54 });
  }
});

test("drop, while other runs end: never more than the limit, and no run is held", async () => {
  const { from, limits } = limited(2, "drop");
  let most = 0;
  const worker = async (store: (typeof stores)[number]) => {
    for (let i = 0; i < 25; i++) {
      await store.runs.insert([newRun({ group: from, limits })]);
      const seen = await states(from);
      most = Math.max(most, (seen["waiting"] ?? 0) + (seen["running"] ?? 0));
      for (const claim of await claimFrom(store, from)) {
        await commitOne(store, commitOf(claim, complete));
        await store.runs.admit({ runIds: [claim.runId] });
      }
    }
  };
  await Promise.all(stores.map(worker));
  expect(most).toBeLessThanOrEqual(2);
  const { held = 0, waiting = 0, running = 0, ...ended } = await states(from);
  expect([held, running]).toEqual([0, 0]);
  expect(waiting + (ended["completed"] ?? 0) + (ended["skipped"] ?? 0)).toBe(150);
});
