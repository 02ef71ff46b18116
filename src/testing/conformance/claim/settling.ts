// How a claim is released: what each settling effect does to the run, and what it costs (S16, S17).

import type { Effect } from "../../../kernel/run/effect.js";
import { cases } from "../case.js";
import { holds, matches, same, some } from "../expect.js";
import {
  append,
  complete,
  fail,
  handBack,
  LONG_MS,
  PAST_MS,
  park,
  pause,
  payload,
  retry,
  type Scene,
  SHORT_MS,
} from "../scene.js";

async function lastEntry(s: Scene, runId: string) {
  const { entries } = some(await s.store.journal.read(runId), "journal");
  return some(entries.at(-1), "the last entry");
}

export const settlingCases = cases("settling", {
  "complete ends the run with its output": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [complete]);
    const run = await s.run(claim.runId);
    matches(run, { state: "completed", owner: null, leaseUntil: null, epoch: 1, crashes: 0, seq: 2 }, "record");
    const entry = await lastEntry(s, claim.runId);
    matches(entry, { kind: "completed", name: "", key: null, payload: payload("done"), epoch: 1 }, "entry");
    same(run.endedAt, entry.at, "endedAt");
    same(await s.claim(), [], "claims");
  },

  "fail ends the run as it says": async (s) => {
    for (const as of ["failed", "dead", "cancelled", "skipped", "quarantined"] as const) {
      const claim = await s.start();
      await s.accept(claim, [fail(as)]);
      const run = await s.run(claim.runId);
      matches(run, { state: as, owner: null, leaseUntil: null }, "record");
      holds(run.endedAt !== null, "endedAt is set");
      const entry = await lastEntry(s, claim.runId);
      matches(entry, { kind: as, name: "", key: null, payload: payload({ message: "no" }) }, "entry");
    }
  },

  "retry waits out its delay and counts as a failure": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [retry(LONG_MS)]);
    const run = await s.run(claim.runId);
    matches(run, { state: "waiting", failures: 1, crashes: 0, owner: null, leaseUntil: null, endedAt: null }, "record");
    const entry = await lastEntry(s, claim.runId);
    matches(entry, { kind: "retry", name: "", key: null, payload: payload({ message: "again" }) }, "entry");
    same(run.availableAt, entry.at + LONG_MS, "availableAt");
    same(await s.claim(), [], "claims");
  },

  "a retry is claimable after its delay": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [append("a"), retry(SHORT_MS)]);
    await s.advance(PAST_MS);
    matches(await s.claimOne(), { runId: claim.runId, failures: 1, crashes: 1, epoch: 2, seq: 3 }, "claim");
  },

  "a failure undoes only its own crash": async (s) => {
    const first = await s.start({}, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    const claim = await s.claimOne();
    same(claim.crashes, 2, "crashes after a crash");
    await s.accept(claim, [retry(0)]);
    matches(await s.run(first.runId), { crashes: 1, failures: 1 }, "record");
  },

  "progress sets the crashes back (S17)": async (s) => {
    await s.start({}, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    const claim = await s.claimOne();
    await s.accept(claim, [append("a")]);
    matches(await s.run(claim.runId), { crashes: 0, state: "running" }, "record");
  },

  "park waits until it is woken": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [park()]);
    matches(
      await s.run(claim.runId),
      { state: "parked", wakeAt: null, owner: null, leaseUntil: null, crashes: 0 },
      "record",
    );
    matches(await lastEntry(s, claim.runId), { kind: "parked", name: "", key: null, payload: null }, "entry");
    same(await s.claim(), [], "claims");
  },

  "park with a time says when it wakes": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [park({ wakeInMs: LONG_MS })]);
    same((await s.run(claim.runId)).wakeAt, (await lastEntry(s, claim.runId)).at + LONG_MS, "wakeAt");
  },

  "park over a message that came meanwhile waits to be claimed (S12)": async (s) => {
    const claim = await s.start();
    await s.store.inbox.send([s.message(claim.runId)]);
    await s.accept(claim, [park({ wakeInMs: LONG_MS, seenInboxSeq: claim.inboxSeq })]);
    const run = await s.run(claim.runId);
    matches(run, { state: "waiting", wakeAt: null, inboxSeq: 1 }, "record");
    same(run.availableAt, (await lastEntry(s, claim.runId)).at, "availableAt");
    same((await s.claimOne()).runId, claim.runId, "claimed");
  },

  "park after the message was seen stays parked": async (s) => {
    const claim = await s.start();
    await s.store.inbox.send([s.message(claim.runId, { key: "signal:1" })]);
    const seq = await s.accept(claim, [{ kind: "take", messageKey: "signal:1" }]);
    await s.accept(claim, [park({ seenInboxSeq: 1 })], seq);
    await s.store.runs.wakeParked({ limit: 1000 });
    matches(await s.run(claim.runId), { state: "parked", inboxSeq: 1 }, "record");
  },

  "a run handed back keeps its place and is claimable at once": async (s) => {
    const claim = await s.start();
    const { availableAt } = await s.run(claim.runId);
    await s.advance(2);
    await s.accept(claim, [handBack]);
    matches(await s.run(claim.runId), { state: "waiting", availableAt, crashes: 0, failures: 0 }, "record");
    matches(await lastEntry(s, claim.runId), { kind: "handed-back", name: "", key: null, payload: null }, "entry");
    same((await s.claimOne()).epoch, 2, "epoch of the next claim");
  },

  "handing back and parking cost no attempt (S17)": async (s) => {
    await s.insert({ crashLimit: 1 });
    const rounds: Effect[] = [handBack, park({ wakeInMs: 0 }), handBack, park({ wakeInMs: 0 })];
    for (const effect of rounds) {
      await s.accept(await s.claimOne(), [effect]);
      await s.advance(1);
      await s.store.runs.wakeParked({ limit: 1000 });
    }
    matches(await s.claimOne(), { crashes: 1, failures: 0, epoch: 5 }, "claim");
  },

  "a paused run is out of the queue": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [pause]);
    matches(await s.run(claim.runId), { state: "paused", owner: null, leaseUntil: null, endedAt: null }, "record");
    matches(await lastEntry(s, claim.runId), { kind: "paused", name: "", key: null, payload: null }, "entry");
    await s.store.inbox.send([s.message(claim.runId)]);
    await s.store.runs.wakeParked({ limit: 1000 });
    same(await s.claim(), [], "claims");
  },
});
