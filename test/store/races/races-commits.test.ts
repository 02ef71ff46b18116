// Commits that meet other commits, steals, reclaims and cancels: one wins, the loser learns it, nothing stale is written.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect, test } from "vitest";
import type { ClaimedRun } from "../../../src/store/contract/run/runs.js";
import { reclaimExpired } from "../../../src/store/postgres/claim/reclaim-expired.js";
import {
  accept,
  append,
  claimFrom,
  claimNew,
  commitOf,
  commitOne,
  complete,
  group,
  json,
  newRun,
  park,
  scene,
  signal,
  stateOf,
  together,
} from "../scene.js";

const s = scene();
const [a, b] = [s.open(), s.open()];

async function journalOf(runId: string): Promise<string[]> {
  const page = await s.store.journal.read(runId);
  return page!.entries.map((entry) => `${entry.seq} ${entry.epoch} ${entry.kind} ${entry.name}`);
}

/** The same owner loses the run to a reclaim and claims it a second time. */
async function stolenByItself(): Promise<[ClaimedRun, ClaimedRun]> {
  const owner = randomUUID();
  const from = group(`q-${randomUUID()}`);
  await s.store.runs.insert([newRun({ group: from })]);
  const [late] = await claimFrom(s.store, from, { owner, leaseMs: 0 });
  await s.store.runs.reclaimExpired({ env: "test", limit: 1000 });
  const [live] = await claimFrom(s.store, from, { owner });
  return [late!, live!];
}

test("a late commit is refused after a steal, even by the same owner", async () => {
  const [late, live] = await stolenByItself();
  expect([late.runId, late.epoch, live.epoch]).toEqual([live.runId, 1, 2]);
  for (const effect of [append("late"), complete, park()]) {
    expect(await commitOne(s.store, commitOf(late, effect))).toEqual({ outcome: "lost" });
  }
  // Half of a fence is no fence: the live epoch with the old token, and the other way round.
  for (const claim of [
    { ...late, epoch: live.epoch },
    { ...live, epoch: late.epoch },
  ]) {
    expect(await commitOne(s.store, commitOf(claim, complete))).toEqual({ outcome: "lost" });
  }
  await accept(s.store, commitOf(live, complete));
  expect((await journalOf(live.runId)).slice(1)).toEqual(["2 2 completed "]);
});

test("a late commit is accepted while the run was not reclaimed", async () => {
  const [claim] = await claimNew(s.store, 1, { leaseMs: 0 });
  expect((await s.store.runs.get(claim!.runId))!.leaseUntil).toBeLessThanOrEqual(Date.now());
  await accept(s.store, commitOf(claim!, append("late"), complete));
  expect(await s.store.runs.reclaimExpired({ env: "test", limit: 10 })).toEqual([]);
  expect(await stateOf(s.store, claim!.runId)).toBe("completed");
});

test("a stale and a live commit of one run in the same batch: only the live one is written", async () => {
  for (const order of [0, 1]) {
    const [late, live] = await stolenByItself();
    const stale = { ...commitOf(late, append("stale"), append("stale")), expectedSeq: live.seq };
    const good = commitOf(live, append("live"));
    const neighbour = commitOf((await claimNew(s.store, 1))[0]!, append("neighbour"));
    const answers = await s.store.runs.commit(order ? [stale, neighbour, good] : [good, neighbour, stale]);
    const outcomes = answers.map((answer) => answer.outcome);
    expect(outcomes).toEqual(order ? ["lost", "accepted", "accepted"] : ["accepted", "accepted", "lost"]);
    expect((await journalOf(live.runId)).slice(1)).toEqual(["2 2 step live"]);
    const stored = await s.rows("select 1 from {s}.journal where run_id = $1 and name = 'stale'", [live.runId]);
    expect(stored).toEqual([]);
  }
});

test("the same commit sent twice at once is written once: accepted, and recorded for the other", async () => {
  const outcomes = new Set<string>();
  for (let round = 0; round < 100; round++) {
    const [claim] = await claimNew(s.store, 1);
    const commit = commitOf(claim!, append("one"), append("two"));
    const [x, y] = await together(
      round % 2 === 0,
      () => commitOne(a, commit),
      () => commitOne(b, commit),
    );
    outcomes.add([x.outcome, y.outcome].sort().join(" "));
    for (const answer of [x, y]) expect(answer).toMatchObject({ seq: 3 });
    expect((await journalOf(claim!.runId)).slice(1)).toEqual(["2 1 step one", "3 1 step two"]);
  }
  expect(outcomes).toEqual(new Set(["accepted recorded"]));
});

test("two different commits at one sequence: one is accepted, the other is rejected with the journal's sequence", async () => {
  for (let round = 0; round < 50; round++) {
    const [claim] = await claimNew(s.store, 1);
    const answers = await together(
      round % 2 === 0,
      () => commitOne(a, commitOf(claim!, append("left"))),
      () => commitOne(b, commitOf(claim!, append("right"))),
    );
    const winner = answers[0].outcome === "accepted" ? 0 : 1;
    expect(answers[winner]).toMatchObject({ outcome: "accepted", seq: 2 });
    expect(answers[1 - winner]).toEqual({ outcome: "moved", seq: 2 });
    expect((await journalOf(claim!.runId)).slice(1)).toEqual([`2 1 step ${winner === 0 ? "left" : "right"}`]);
  }
});

test("of two different commits that end a run one counts, the other is lost", async () => {
  for (let round = 0; round < 50; round++) {
    const [claim] = await claimNew(s.store, 1);
    const failed = { kind: "fail", as: "failed", reason: json("no") } as const;
    const answers = await together(
      round % 2 === 0,
      () => commitOne(a, commitOf(claim!, complete)),
      () => commitOne(b, commitOf(claim!, failed)),
    );
    const state = await stateOf(s.store, claim!.runId);
    const winner = state === "completed" ? 0 : 1;
    expect(answers.map((answer) => answer.outcome)).toEqual(winner === 0 ? ["accepted", "lost"] : ["lost", "accepted"]);
  }
});

test("a commit that meets a locked row is busy, not lost, and goes through when sent again", async () => {
  const [claim] = await claimNew(s.store, 1, { leaseMs: 0 });
  const sweeper = new pg.Client({ connectionString: s.url });
  await sweeper.connect();
  await sweeper.query("begin");
  await sweeper.query(s.text(reclaimExpired), [10, "test"]);
  expect(await s.store.runs.commit([commitOf(claim!, append("x"))])).toEqual([{ outcome: "busy" }]);
  await sweeper.query("rollback");
  await sweeper.end();
  await accept(s.store, commitOf(claim!, append("x")));
});

test("an expired run that is reclaimed and cancelled at once never loses the cancel", async () => {
  const seen = new Set<string>();
  await a.runs.reclaimExpired({ env: "test", limit: 1000 });
  for (let round = 0; round < 60; round++) {
    const [claim] = await claimNew(s.store, 1, { leaseMs: 0, crashLimit: round % 3 === 0 ? 1 : 5 });
    const { runId } = claim!;
    const [swept, cancelled] = await together(
      round % 2 === 0,
      () => a.runs.reclaimExpired({ env: "test", limit: 1000 }),
      () => b.runs.cancel(runId, { by: "me" }),
    );
    const sweptNow = swept.length > 0 ? swept : await a.runs.reclaimExpired({ env: "test", limit: 1000 });
    expect(sweptNow.map((one) => one.runId)).toEqual([runId]);
    const state = await stateOf(s.store, runId);
    seen.add(`${cancelled.outcome} ${state}`);
    if (cancelled.outcome === "requested" && state === "waiting") {
      expect((await s.store.inbox.unread(runId)).map((message) => message.kind)).toEqual(["cancel"]);
    }
  }
  const possible = ["requested waiting", "requested dead", "cancelled cancelled", "ended dead"];
  for (const one of seen) expect(possible).toContain(one);
});

test("cancel by state: a running run is asked to stop, a waiting, parked or paused one ends at once, an ended one stays", async () => {
  const [running, parked, paused, completed] = await claimNew(s.store, 4);
  await accept(s.store, commitOf(parked!, park({ wakeInMs: 60_000 })));
  await accept(s.store, commitOf(paused!, { kind: "pause" }));
  await accept(s.store, commitOf(completed!, complete));
  const waiting = newRun({ delayMs: 60_000 });
  await s.store.runs.insert([waiting]);
  const by = { by: "operator", reason: "test" };

  for (const runId of [waiting.id, parked!.runId, paused!.runId]) {
    await s.store.inbox.send([signal(runId)]);
    if (runId === parked!.runId) expect(await stateOf(s.store, runId)).toBe("waiting");
    expect(await s.store.runs.cancel(runId, by)).toEqual({ outcome: "cancelled" });
    expect(await s.store.runs.cancel(runId, by)).toEqual({ outcome: "cancelled" });
    expect(await stateOf(s.store, runId)).toBe("cancelled");
    const page = await s.store.journal.read(runId);
    expect(page!.entries.at(-1)).toMatchObject({ kind: "cancelled", epoch: 0, seq: page!.seq });
    expect(await s.rows("select taken_seq::int from {s}.inbox where run_id = $1", [runId])).toEqual([{ taken_seq: 0 }]);
  }
  expect(await s.store.runs.cancel(running!.runId, by)).toEqual({ outcome: "requested" });
  expect(await s.store.runs.cancel(running!.runId, by)).toEqual({ outcome: "requested" });
  const [request, ...more] = await s.store.inbox.unread(running!.runId);
  expect([request!.kind, request!.key, request!.sender, more.length]).toEqual(["cancel", "cancel", "operator", 0]);
  expect(await s.store.runs.renew([running!], 60_000)).toEqual([{ outcome: "held", inboxSeq: 1 }]);
  expect(await s.store.runs.cancel(completed!.runId, by)).toEqual({ outcome: "ended", state: "completed" });
  expect(await s.store.runs.cancel(randomUUID(), by)).toEqual({ outcome: "unknown" });
});

test("a completion and a cancel at once: the run completes, and housekeeping leaves it no unread message", async () => {
  for (let round = 0; round < 60; round++) {
    const [claim] = await claimNew(s.store, 1);
    const [answer, cancelled] = await together(
      round % 2 === 0,
      () => commitOne(a, commitOf(claim!, complete)),
      () => b.runs.cancel(claim!.runId, { by: "me" }),
    );
    expect(answer.outcome).toBe("accepted");
    expect(["requested", "ended"]).toContain(cancelled.outcome);
    await s.store.runs.wakeParked({ limit: 10 });
    const open = await s.rows("select 1 from {s}.inbox where run_id = $1 and taken_seq is null", [claim!.runId]);
    expect(open).toEqual([]);
  }
});
