// Claims, reclaims and renewals on real connections: a run is granted once, and reclaimed once.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect, test } from "vitest";
import type { Claim } from "../../../src/kernel/run/claim.js";
import type { Store } from "../../../src/store/contract/store.js";
import { reclaimExpired } from "../../../src/store/postgres/claim/reclaim-expired.js";
import { reclaimOrphans } from "../../../src/store/postgres/claim/recover-runs.js";
import {
  claimFrom,
  claimNew,
  commitOf,
  commitOne,
  complete,
  group,
  newRuns,
  scene,
  stateOf,
  together,
} from "../scene.js";

const s = scene();
const stores = Array.from({ length: 25 }, () => s.open({ connections: 2 }));
const claimers = [...stores, ...stores];

test("of fifty claimers of one run exactly one gets it", async () => {
  for (let round = 0; round < 5; round++) {
    const from = group(`one-${round}`);
    const [run] = newRuns(1, { group: from });
    await s.store.runs.insert([run!]);
    const granted = (await Promise.all(claimers.map((store) => claimFrom(store, from, { limit: 10 })))).flat();
    expect(granted.map((claim) => [claim.runId, claim.epoch])).toEqual([[run!.id, 1]]);
    const row = await s.rows("select token, epoch::int, crashes from {s}.runs where id = $1", [run!.id]);
    expect(row).toEqual([{ token: granted[0]!.token, epoch: 1, crashes: 1 }]);
  }
});

test("fifty claimers share ten thousand runs: each granted once, no call over its limit", async () => {
  const from = group("many");
  for (let i = 0; i < 10; i++) await s.store.runs.insert(newRuns(1000, { group: from }));
  const granted: string[] = [];
  const sizes: number[] = [];
  await Promise.all(
    claimers.map(async (store, i) => {
      const limit = 10 + i;
      for (let empty = 0; empty < 20; ) {
        const claimed = await claimFrom(store, from, { limit });
        granted.push(...claimed.map((claim) => claim.runId));
        sizes.push(limit - claimed.length);
        // Rows that others have locked are skipped, so an empty answer is not yet the end.
        empty = claimed.length > 0 || granted.length < 10_000 ? 0 : 20;
      }
    }),
  );
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(0);
  expect(new Set(granted).size).toBe(10_000);
  expect(granted).toHaveLength(10_000);
  const left = await s.rows(
    "select distinct r.state, r.epoch::int, r.crashes from {s}.runs r join {s}.claim_groups g on g.id = claim_group where queue = 'many'",
  );
  expect(left).toEqual([{ state: "running", epoch: 1, crashes: 1 }]);
});

test("a claim repeated with its token on another connection gets what it holds and nothing more", async () => {
  const from = group("again");
  await s.store.runs.insert(newRuns(30, { group: from }));
  const [groupId] = await s.store.runs.groupIds([from]);
  const request = { owner: randomUUID(), token: randomUUID(), groupIds: [groupId!], limit: 10, leaseMs: 60_000 };
  const first = await stores[0]!.runs.claim(request);
  const again = await Promise.all(stores.map((store) => store.runs.claim(request)));
  expect(first).toHaveLength(10);
  // The time in the answer is the database's at each call.
  const timeless = (claims: typeof first) => claims.map((claim) => ({ ...claim, claimedAt: 0 }));
  for (const answer of again) expect(timeless(answer)).toEqual(timeless(first));
});

test("reclaimers with the same stale list reclaim each run once", async () => {
  const claimed = await claimNew(s.store, 500, { leaseMs: 0 });
  const swept = (
    await Promise.all(stores.slice(0, 8).map((store) => store.runs.reclaimExpired({ env: "test", limit: 200 })))
  ).flat();
  while (swept.length < 500) {
    const more = await s.store.runs.reclaimExpired({ env: "test", limit: 500 });
    expect(more).not.toHaveLength(0);
    swept.push(...more);
  }
  expect(swept.map((one) => one.runId).sort()).toEqual(claimed.map((one) => one.runId).sort());
  expect(new Set(swept.map((one) => `${one.outcome} ${one.epoch} ${one.crashes}`))).toEqual(new Set(["waiting 1 1"]));
});

test("an uncommitted reclaim hides its runs from the next reclaimer, and neither executes anything", async () => {
  const claimed = await claimNew(s.store, 20, { leaseMs: 0 });
  const first = new pg.Client({ connectionString: s.url });
  await first.connect();
  await first.query("begin");
  const { rows } = await first.query(s.text(reclaimExpired), [100, "test"]);
  expect(rows).toHaveLength(20);
  expect(await s.store.runs.reclaimExpired({ env: "test", limit: 100 })).toEqual([]);
  const [renewed] = await s.store.runs.renew([claimed[0]!], 60_000);
  expect(renewed).toEqual({ outcome: "busy" });
  await first.query("commit");
  await first.end();
  expect(await s.store.runs.reclaimExpired({ env: "test", limit: 100 })).toEqual([]);
  expect(await stateOf(s.store, claimed[0]!.runId)).toBe("waiting");
});

test("a renewal and a reclaim never both win, and a renewed claim is not reclaimed", async () => {
  const [renewer, reclaimer] = [stores[0]!, stores[1]!];
  const seen = { held: 0, lost: 0 };
  for (let round = 0; round < 60; round++) {
    const claimed = await claimNew(s.store, 10, { leaseMs: 0 });
    const [swept, renewed] = await together(
      round % 2 === 0,
      () => reclaimer.runs.reclaimExpired({ env: "test", limit: 3 + (round % 10) }),
      () => renewAll(renewer, claimed),
    );
    const reclaimed = new Set(swept.map((one) => one.runId));
    const later = new Set((await reclaimer.runs.reclaimExpired({ env: "test", limit: 1000 })).map((one) => one.runId));
    for (const { runId } of claimed) {
      const outcome = reclaimed.has(runId) ? "lost" : "held";
      expect(renewed.get(runId)).toBe(outcome);
      expect(later).not.toContain(runId);
      seen[outcome]++;
    }
  }
  expect(Math.min(seen.held, seen.lost)).toBeGreaterThan(0);
});

/** Asks again for those whose row was locked. */
async function renewAll(store: Store, claims: readonly Claim[]): Promise<Map<string, string>> {
  const outcome = new Map<string, string>();
  for (let open = claims; open.length > 0; open = open.filter((claim) => outcome.get(claim.runId) === "busy")) {
    const answers = await store.runs.renew(open, 60_000);
    open.forEach((claim, i) => {
      outcome.set(claim.runId, answers[i]!.outcome);
    });
  }
  return outcome;
}

test("a completion and a reclaim never both win, and a completed run stays completed", async () => {
  const [worker, reclaimer] = [stores[0]!, stores[1]!];
  const seen = { completed: 0, waiting: 0 };
  for (let round = 0; round < 60; round++) {
    const claimed = await claimNew(s.store, 6, { leaseMs: 0 });
    const [answers, swept] = await together(
      round % 2 === 0,
      () => Promise.all(claimed.map((claim) => commitOne(worker, commitOf(claim, complete)))),
      () => reclaimer.runs.reclaimExpired({ env: "test", limit: 1 + (round % 8) }),
    );
    const reclaimed = new Set(swept.map((one) => one.runId));
    await s.store.runs.reclaimExpired({ env: "test", limit: 1000 });
    const ids = claimed.map((claim) => claim.runId);
    const rows = await s.rows<{ id: string; state: string }>("select id, state from {s}.runs where id = any($1)", [
      ids,
    ]);
    const states = new Map(rows.map((row) => [row.id, row.state]));
    for (const [i, runId] of ids.entries()) {
      const state = reclaimed.has(runId) ? "waiting" : "completed";
      expect(answers[i]!.outcome).toBe(state === "waiting" ? "lost" : "accepted");
      expect(states.get(runId)).toBe(state);
      seen[state]++;
    }
  }
  expect(Math.min(seen.completed, seen.waiting)).toBeGreaterThan(0);
});

test("a decision on an orphan that another node is just reclaiming has no effect, whenever the other commits", async () => {
  const [claim] = await claimNew(s.store, 1, { leaseMs: 0 });
  const { runId, epoch } = claim!;
  const first = new pg.Client({ connectionString: s.url });
  await first.connect();
  await first.query("begin");
  await first.query(s.text(reclaimOrphans), [[runId], [epoch], ["restart"], 0]);
  let isAnswered = false;
  const second = s.store.runs.recover([{ runId, epoch, policy: "restart" }], { staleMs: 0 }).finally(() => {
    isAnswered = true;
  });
  const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and query like $1";
  await expect
    .poll(async () => isAnswered || (await s.rows(waiting, [`%${s.schema}%`])).length > 0, { timeout: 8_000 })
    .toBe(true);
  await first.query("commit");
  await first.end();
  expect(await second).toEqual([]);
  expect(await s.rows("select state, generation from {s}.runs where id = $1", [runId])).toEqual([
    { state: "waiting", generation: 1 },
  ]);
});
