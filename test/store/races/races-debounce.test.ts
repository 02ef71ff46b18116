// An event that meets the claim of its run: it is taken along, or starts the next run, and is never lost.

import { expect, test } from "vitest";
import type { ClaimedRun } from "../../../src/store/contract/run/runs.js";
import { claimFrom, group, json, newRun, scene } from "../scene.js";

const s = scene();
const ROUNDS = 60;

const gathered = (subject: string, value: unknown, windowMs = 0) => {
  const run = newRun({ group: group("calm"), input: json(value) });
  return { run, ticket: { subscription: "calm on updated", subject, windowMs } };
};

test("an event during the claim of its run is part of it or starts the next run", async () => {
  const other = s.open();
  const wrong: object[] = [];
  let apart = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const subject = `subject-${round}`;
    await s.store.events.debounce([gathered(subject, "first")]);
    const [claim] = (await claimFrom(s.store, group("calm"))) as [ClaimedRun];
    const next = gathered(subject, "second");
    const ticket = claim.debounce!;
    const [settled, [answer]] = await Promise.all([
      s.store.events.settleDebounced(claim, claim.seq, ticket),
      pause(round % 12).then(() => other.events.debounce([next])),
    ]);
    const gatherer = answer?.outcome === "gathered" ? answer.runId : null;
    const page = await s.store.journal.read(claim.runId);
    const took = page?.entries[0]?.payload?.data;
    const alone = gatherer === next.run.id && (await s.store.runs.get(next.run.id)) !== null;
    const along = gatherer === claim.runId && took === JSON.stringify("second");
    if (settled.outcome !== "begins" || !(alone || along)) wrong.push({ round, settled, gatherer, took });
    if (alone) apart++;
    for (const left of await claimFrom(s.store, group("calm"), { limit: 10 })) {
      if (left.debounce) await s.store.events.settleDebounced(left, left.seq, ticket);
    }
    await s.rows("delete from {s}.runs");
    await s.rows("delete from {s}.debounces");
  }
  expect(wrong).toEqual([]);
  expect(apart).toBeGreaterThan(0);
}, 60_000);

test("an event whose run cannot be stored leaves nothing of its subject, and is stored when it can", async () => {
  const one = gathered("refused", "first", 60_000);
  const poisoned = { ...one, run: { ...one.run, priority: 4711 } };
  await s.pool.query(`alter table ${s.schema}.runs add constraint test_no_4711 check (priority <> 4711)`);
  expect(await s.store.events.debounce([poisoned])).toMatchObject([{ outcome: "refused" }]);
  await s.pool.query(`alter table ${s.schema}.runs drop constraint test_no_4711`);
  const next = gathered("refused", "second", 60_000);
  expect(await s.store.events.debounce([next])).toEqual([{ outcome: "gathered", runId: next.run.id }]);
  expect(await s.store.runs.get(next.run.id)).not.toBeNull();
  await s.rows("delete from {s}.runs");
  await s.rows("delete from {s}.debounces");
});

test("gathered and started runs of one event are atomic: neither is there when one of them cannot be stored", async () => {
  const one = gathered("both", "first", 60_000);
  const key = { scope: "s", key: "both", payloadHash: "h", lifetime: "archived", onMismatch: "skip" } as const;
  const beside = [newRun({ group: group("plain"), key })];
  for (const poisoned of ["runs", "debounces"]) {
    const column = poisoned === "runs" ? "priority" : "subject";
    const bad = poisoned === "runs" ? 4711 : "'both'";
    await s.pool.query(`alter table ${s.schema}.${poisoned} add constraint test_no_both check (${column} <> ${bad})`);
    const event = { run: { ...one.run, priority: 4711 }, ticket: one.ticket };
    expect(await s.store.events.accept([{ runs: beside, debounced: [event] }])).toMatchObject([{ outcome: "refused" }]);
    await s.pool.query(`alter table ${s.schema}.${poisoned} drop constraint test_no_both`);
    expect(await s.rows("select id from {s}.runs union all select run_id from {s}.run_keys")).toEqual([]);
  }
  expect(await s.store.events.accept([{ runs: beside, debounced: [one] }])).toEqual([
    {
      outcome: "accepted",
      runs: [{ outcome: "inserted", runId: beside[0]!.id }],
      debounced: [{ outcome: "gathered", runId: one.run.id }],
    },
  ]);
  await s.rows("delete from {s}.runs");
  await s.rows("delete from {s}.debounces");
});

test("events that gather and start, from four processes at once with the same keys: no deadlock, each run once", async () => {
  const stores = [s.store, s.open(), s.open(), s.open()];
  const emits = Array.from({ length: 120 }, (_, i) => {
    const n = Math.floor(i / 4);
    const key = {
      scope: "s",
      key: `both-${n % 15}`,
      payloadHash: "h",
      lifetime: "archived",
      onMismatch: "skip",
    } as const;
    const other = { ...key, key: `both-${(n * 7) % 15}` };
    const beside = [key, other].map((one) => newRun({ group: group("plain"), key: one }));
    const debounced = [gathered(`mixed-${n % 3}`, i, 60_000)];
    return stores[i % 4]!.events.accept([{ runs: beside, debounced }]);
  });
  const answers = (await Promise.all(emits)).flat();
  expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(["accepted"]));
  const made = answers.flatMap((one) => (one.outcome === "accepted" ? one.runs : []));
  expect(new Set(made.map(({ runId }) => runId)).size).toBe(15);
  const rows = await s.rows("select count(*)::int as n from {s}.runs r join {s}.run_keys k on k.run_id = r.id");
  expect(rows).toEqual([{ n: 15 }]);
  for (const table of ["runs", "debounces", "run_keys"]) await s.rows(`delete from {s}.${table}`);
}, 60_000);

test("of many emitters on one subject at once, one creates the run and no subject is left without one", async () => {
  const stores = [s.store, s.open(), s.open(), s.open()];
  for (let round = 0; round < 10; round++) {
    const subject = `crowd-${round}`;
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => stores[i % 4]!.events.debounce([gathered(subject, i, 60_000)])),
    );
    const runs = new Set(answers.flat().map((one) => (one.outcome === "gathered" ? one.runId : one.outcome)));
    expect(runs.size).toBe(1);
  }
  const rows = await s.rows(
    "select count(*)::int as subjects, count(r.id)::int as runs from {s}.debounces d left join {s}.runs r on r.id = d.run_id",
  );
  expect(rows).toEqual([{ subjects: 10, runs: 10 }]);
}, 60_000);

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
