// Reclaims and wake-ups: they change state only, and only of runs whose lease or wait has expired (S5, S17).

import { cases } from "../case.js";
import { holds, matches, same, some } from "../expect.js";
import { complete, LONG_MS, PAST_MS, park, type Scene, SHORT_MS } from "../scene.js";

/** Reclaims in the whole store and returns what was reclaimed in this scene. */
async function sweep(s: Scene, limit = 1000) {
  const swept = await s.store.runs.reclaimExpired({ env: s.env, limit });
  holds(swept.length <= limit, "a sweep takes no more than its limit");
  const mine = await Promise.all(swept.map(async ({ runId }) => (await s.store.runs.get(runId))?.group.env === s.env));
  return swept.filter((_, i) => mine[i]);
}

export const sweepCases = cases("sweeps", {
  "a live lease is left alone (S5)": async (s) => {
    const claim = await s.start({}, { leaseMs: LONG_MS });
    await s.advance(PAST_MS);
    same(await sweep(s), [], "swept");
    matches(await s.run(claim.runId), { state: "running" }, "record");
  },

  "an expired run waits again, in its old place (S5)": async (s) => {
    const { id } = await s.insert();
    const { availableAt } = await s.run(id);
    await s.claimOne({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    const [reclaimed, ...more] = await sweep(s);
    same(more, [], "others");
    const { expiredForMs, ...rest } = some(reclaimed, "reclaimed");
    const previous = { previousOwner: s.owner, previousIdentity: null, previousName: null };
    same(rest, { runId: id, outcome: "waiting", ...previous, epoch: 1, crashes: 1, renewedAgoMs: null }, "answer");
    holds(expiredForMs >= PAST_MS - SHORT_MS, "how long the lease had been over");
    const free = {
      state: "waiting" as const,
      owner: null,
      leaseUntil: null,
      epoch: 1,
      crashes: 1,
      availableAt,
      seq: 1,
    };
    matches(await s.run(id), free, "record");
    same(await s.log(id), ["start"], "log");
  },

  "a reclaim returns the previous holder, and how long ago the claim was renewed": async (s) => {
    const [owner, leaseMs] = [s.token(), SHORT_MS];
    const node = { incarnation: owner, identity: "host-1", name: "one", env: s.env, stack: null, build: null, leaseMs };
    await s.store.nodes.register(node);
    await s.insert();
    await s.claimOne({ owner, leaseMs });
    await s.advance(PAST_MS);
    const { expiredForMs, renewedAgoMs, previousIdentity, previousName } = some((await sweep(s))[0], "reclaimed");
    same([previousIdentity, previousName], ["host-1", "one"], "whose it was");
    same(renewedAgoMs, expiredForMs + leaseMs, "renewedAgoMs");
  },

  "a reclaimed run is granted again, with a higher epoch": async (s) => {
    const old = await s.start({}, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await sweep(s);
    matches(await s.claimOne(), { runId: old.runId, epoch: 2, crashes: 2 }, "claim");
    same(await sweep(s), [], "a second sweep");
  },

  "a renewed lease is not swept": async (s) => {
    const claim = await s.start({}, { leaseMs: SHORT_MS });
    await s.store.runs.renew([claim], LONG_MS);
    await s.advance(PAST_MS);
    same(await sweep(s), [], "swept");
  },

  "parked and ended runs are not swept": async (s) => {
    await s.accept(await s.start({}, { leaseMs: SHORT_MS }), [park()]);
    await s.accept(await s.start({}, { leaseMs: SHORT_MS }), [complete]);
    await s.advance(PAST_MS);
    same(await sweep(s), [], "swept");
    same(await s.store.runs.count({ env: s.env }), { parked: 1, completed: 1 }, "states");
  },

  "a run that crashes up to its limit is dead, with the reason as its last entry (S17)": async (s) => {
    const { id } = await s.insert({ crashLimit: 3 });
    for (const crashes of [1, 2, 3]) {
      await s.claimOne({ leaseMs: SHORT_MS });
      await s.advance(PAST_MS);
      const outcome = crashes < 3 ? ("waiting" as const) : ("dead" as const);
      matches((await sweep(s))[0], { runId: id, outcome, crashes, epoch: crashes }, `crash ${crashes}`);
    }
    const run = await s.run(id);
    matches(run, { state: "dead", owner: null, leaseUntil: null, crashes: 3, seq: 2 }, "record");
    const { entries } = some(await s.store.journal.read(id, { after: 1 }), "journal");
    const holders = [1, 2, 3].map((epoch) => ({ epoch, incarnation: s.owner, node: null }));
    const reason = { codec: "json", data: JSON.stringify({ code: "CRASH_LIMIT", crashes: 3, holders }) };
    const entry = { seq: 2, epoch: 0, kind: "dead", name: "", key: null, payload: reason, at: run.endedAt };
    same(entries, [entry], "entries");
    same(await s.claim(), [], "claims");
  },

  "the oldest lease comes first": async (s) => {
    const [late, early] = [await s.insert({ priority: 1 }), await s.insert({ priority: 0 })];
    await s.claim({ limit: 1, leaseMs: 1 });
    await s.claim({ limit: 1, leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    const order: string[] = [];
    for (let i = 0; i < 1000 && order.length < 2; i++) order.push(...(await sweep(s, 1)).map(({ runId }) => runId));
    same(order, [early.id, late.id], "order");
  },

  "many sweeps at once take each run back once (F58)": async (s) => {
    const runs = Array.from({ length: 10 }, () => s.newRun());
    await s.store.runs.insert(runs);
    await s.advance(1);
    await s.claim({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    const swept = (await Promise.all([sweep(s), sweep(s), sweep(s), sweep(s)])).flat();
    same(swept.map(({ runId }) => runId).sort(), runs.map(({ id }) => id).sort(), "swept once each");
  },
});

export const wakeCases = cases("wake-ups", {
  "a parked run wakes when its time has come": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [park({ wakeInMs: SHORT_MS })]);
    await s.advance(PAST_MS);
    await s.store.runs.wakeParked({ limit: 1000 });
    const run = await s.run(claim.runId);
    matches(run, { state: "waiting", wakeAt: null, inboxSeq: 0 }, "record");
    holds(run.availableAt >= run.createdAt + PAST_MS, "it queues up when it wakes, not where it was");
    await s.advance(1);
    same((await s.claimOne()).runId, claim.runId, "claimed");
  },

  "a parked run sleeps until then": async (s) => {
    await s.accept(await s.start(), [park({ wakeInMs: LONG_MS })]);
    await s.accept(await s.start(), [park({ wakeInMs: null })]);
    await s.store.runs.wakeParked({ limit: 1000 });
    same(await s.store.runs.count({ env: s.env }), { parked: 2 }, "states");
  },

  "unread messages wake a run, even without a wake-up": async (s) => {
    const claim = await s.start();
    await s.store.inbox.send([s.message(claim.runId)]);
    await s.accept(claim, [park({ seenInboxSeq: 1 })]);
    matches(await s.run(claim.runId), { state: "parked" }, "parked over an unread message");
    await s.store.runs.wakeParked({ limit: 1000 });
    matches(await s.run(claim.runId), { state: "waiting", inboxSeq: 1 }, "record");
  },

  "the count and the limit": async (s) => {
    await s.wakeLeftovers();
    await s.store.runs.insert([s.newRun(), s.newRun(), s.newRun()]);
    await s.advance(1);
    const claims = await s.claim();
    const ids = claims.map(({ runId }) => runId);
    // One call, one clock: the lower the id, the later it is due.
    const effects = [3, 2, 1].map((ms) => [park({ wakeInMs: ms })]);
    await s.store.runs.commit(claims.map((claim, i) => ({ claim, expectedSeq: 1, effects: effects[i]! })));
    await s.advance(PAST_MS);
    same(await s.store.runs.wakeParked({ limit: 2 }), 2, "woken at first");
    await s.advance(1);
    same(
      (await s.claim()).map(({ runId }) => runId),
      [ids[2], ids[1]],
      "the earliest due first",
    );
    same(await s.store.runs.wakeParked({ limit: 2 }), 1, "woken then");
    same(await s.store.runs.wakeParked({ limit: 2 }), 0, "nothing left");
  },
});
