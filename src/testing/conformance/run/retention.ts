// Retention: only runs that have ended, are old enough and not a live run's child are removed (S20).

import { cases } from "../case.js";
import { matches, rejects, same } from "../expect.js";
import { append, complete, fail, LONG_MS, PAST_MS, park, type Scene, SHORT_MS } from "../scene.js";

async function completed(s: Scene): Promise<string> {
  const claim = await s.start();
  await s.accept(claim, [complete]);
  return claim.runId;
}

/** A live parent (running) with a child that has completed. */
async function family(s: Scene) {
  const parent = await s.start();
  const child = s.newRun({ group: { queue: "children" } });
  const seq = await s.accept(parent, [{ kind: "enqueue", name: "child", run: child }]);
  await s.advance(1);
  const claim = await s.claimOne({ groupIds: await s.store.runs.groupIds([child.group]) });
  await s.accept(claim, [complete]);
  return { parent, seq, child: child.id };
}

export const retentionCases = cases("retention", {
  "archive moves ended runs out of the way, once": async (s) => {
    const id = await completed(s);
    const all = { env: s.env, endedBeforeMs: 0, limit: 10 };
    same(await s.store.runs.archive(all), 1, "archived");
    const run = await s.run(id);
    matches(run, { state: "completed" }, "record");
    same(run.archivedAt === null, false, "archivedAt is null");
    await s.advance(2);
    same(await s.store.runs.archive(all), 0, "archived again");
    same((await s.run(id)).archivedAt, run.archivedAt, "archivedAt");
    same(await s.log(id), ["start", "completed"], "log");
  },

  "live runs are never archived nor pruned (S20)": async (s) => {
    await s.insert();
    await s.insert({ delayMs: LONG_MS });
    await s.claimOne();
    const parked = await s.start();
    await s.accept(parked, [park()]);
    await s.advance(PAST_MS);
    const all = { env: s.env, endedBeforeMs: 0, limit: 10 };
    same(await s.store.runs.archive(all), 0, "archived");
    same(await s.store.runs.prune(all), 0, "pruned");
    same(await s.store.runs.count({ env: s.env }), { running: 1, waiting: 1, parked: 1 }, "states");
  },

  "only what ended long enough ago": async (s) => {
    const id = await completed(s);
    const young = { env: s.env, endedBeforeMs: LONG_MS, limit: 10 };
    same(await s.store.runs.archive(young), 0, "archived");
    same(await s.store.runs.prune(young), 0, "pruned");
    await s.advance(PAST_MS);
    same(await s.store.runs.prune({ ...young, endedBeforeMs: SHORT_MS }), 1, "pruned later");
    same(await s.store.runs.get(id), null, "record");
  },

  "those that ended first go first, up to the limit": async (s) => {
    const claims = [await s.start(), await s.start(), await s.start()].reverse();
    const ids = claims.map(({ runId }) => runId);
    for (const claim of claims) {
      await s.accept(claim, [complete]);
      await s.advance(1);
    }
    const two = { env: s.env, endedBeforeMs: 0, limit: 2 };
    same(await s.store.runs.archive(two), 2, "archived");
    same((await s.run(ids[2]!)).archivedAt, null, "the last one");
    same(await s.store.runs.archive(two), 1, "archived then");
    same(await s.store.runs.prune(two), 2, "pruned");
    same(await s.store.runs.get(ids[1]!), null, "the second one");
    matches(await s.run(ids[2]!), { state: "completed" }, "the last one");
  },

  "prune leaves nothing of a run": async (s) => {
    const claim = await s.start({ key: s.newKey({ lifetime: "archived" }) });
    const message = s.message(claim.runId);
    await s.store.inbox.send([message]);
    await s.accept(claim, [append("a"), complete]);
    same(await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 }), 1, "pruned");
    same(await s.store.runs.get(claim.runId), null, "record");
    same(await s.store.journal.read(claim.runId), null, "journal");
    same(await s.store.inbox.send([message]), [{ outcome: "unknown" }], "a message to it");
    same(await s.store.runs.cancel(claim.runId, { by: "me" }), { outcome: "unknown" }, "cancel");
    same(await s.commit(claim, [complete], 3), { outcome: "lost" }, "a late commit");
    await s.insert({ key: s.newKey({ payloadHash: "h2" }) });
  },

  "a pruned id may come back, with nothing of its past": async (s) => {
    const run = s.newRun({ key: s.newKey({ lifetime: "live" }) });
    const message = s.message(run.id, { key: "signal:1" });
    await s.store.runs.insert([run]);
    await s.store.inbox.send([message]);
    await s.accept(await s.claimOne(), [append("a"), complete]);
    same(await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 }), 1, "pruned");
    const { key: _, ...again } = run;
    same(await s.store.runs.insert([again]), [{ outcome: "inserted", runId: run.id }], "inserted again");
    same(await s.log(run.id), ["start"], "log");
    const rival = s.message(run.id, { key: "signal:1" });
    same(await s.store.inbox.send([rival]), [{ outcome: "accepted" }], "its message's key");
    await s.insert({ key: s.newKey({ payloadHash: "h2" }) });
    const claims = await s.claim();
    const claim = claims.find(({ runId }) => runId === run.id);
    matches(claim, { epoch: 1, seq: 1, crashes: 1, inboxSeq: 1 }, "claim");
  },

  "prune takes archived runs, too": async (s) => {
    await completed(s);
    const all = { env: s.env, endedBeforeMs: 0, limit: 10 };
    await s.store.runs.archive(all);
    same(await s.store.runs.prune(all), 1, "pruned");
    same(await s.store.runs.count({ env: s.env, archived: true }), {}, "archived");
  },

  "a child stays as long as its parent lives (S20)": async (s) => {
    const { parent, seq, child } = await family(s);
    const all = { env: s.env, endedBeforeMs: 0, limit: 10 };
    same(await s.store.runs.prune(all), 0, "pruned while the parent lives");
    matches(await s.run(child), { state: "completed" }, "child");
    await s.accept(parent, [complete], seq);
    same(await s.store.runs.prune(all), 2, "pruned when the parent has ended");
  },

  "a child that must stay takes no place under the limit": async (s) => {
    await family(s);
    const other = await completed(s);
    same(await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 1 }), 1, "pruned");
    same(await s.store.runs.get(other), null, "the one that may go");
  },

  "limits and ages that are none are refused, a limit of nothing takes nothing": async (s) => {
    const id = await completed(s);
    const odd = [
      { limit: 0.5 },
      { limit: Number.NaN },
      { endedBeforeMs: -1 },
      { endedBeforeMs: Number.NaN },
      { env: "a\0b" },
    ];
    for (const part of odd) {
      const options = { env: s.env, endedBeforeMs: 0, limit: 10, ...part };
      await rejects(s.store.runs.archive(options), `archive ${Object.keys(part)}`);
      await rejects(s.store.runs.prune(options), `prune ${Object.keys(part)}`);
    }
    for (const limit of [0, -1]) {
      same(await s.store.runs.archive({ env: s.env, endedBeforeMs: 0, limit }), 0, "archived");
      same(await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit }), 0, "pruned");
      same(await s.store.runs.wakeParked({ limit }), 0, "woken");
    }
    await rejects(s.store.runs.wakeParked({ limit: Number.NaN }), "wakeParked");
    matches(await s.run(id), { state: "completed", archivedAt: null }, "record");
  },

  "other envs are not touched (S18)": async (s) => {
    const id = await completed(s);
    const other = { env: `${s.env}-2`, endedBeforeMs: 0, limit: 10 };
    same(await s.store.runs.archive(other), 0, "archived");
    same(await s.store.runs.prune(other), 0, "pruned");
    matches(await s.run(id), { state: "completed", archivedAt: null }, "record");
  },

  "only the states, the program, the queue or the runs that are named": async (s) => {
    const [one, two] = [await completed(s), await completed(s)];
    const failed = await s.start();
    await s.accept(failed, [fail()]);
    const all = { env: s.env, endedBeforeMs: 0, limit: 10 };
    same(await s.store.runs.countPrunable(all), { completed: 2, failed: 1 }, "countPrunable");
    same(await s.store.runs.countPrunable({ ...all, states: ["failed"] }), { failed: 1 }, "of a state");
    same(await s.store.runs.archive({ ...all, states: [] }), 0, "archived of no state");
    same(await s.store.runs.archive({ ...all, program: "none" }), 0, "archived of another program");
    same(await s.store.runs.prune({ ...all, queue: "none" }), 0, "pruned of another queue");
    same(await s.store.runs.archive({ ...all, runIds: [one] }), 1, "archived by its id");
    same(await s.store.runs.archive({ ...all, runIds: [one] }), 0, "archived again");
    same((await s.run(two)).archivedAt, null, "the other");
    same(await s.store.runs.archive({ ...all, env: `${s.env}-2`, runIds: [two] }), 0, "archived from another env");
    same(await s.store.runs.prune({ ...all, states: ["completed"] }), 2, "pruned of a state");
    matches(await s.run(failed.runId), { state: "failed" }, "the failed one");
    for (const odd of [{ states: ["running"] }, { runIds: ["x"] }, { program: 1 }]) {
      await rejects(s.store.runs.prune({ ...all, ...odd } as never), JSON.stringify(odd));
    }
  },

  "a child stays while its failed parent can be retried, unless both go (S20)": async (s) => {
    const { parent, seq, child } = await family(s);
    await s.accept(parent, [fail()], seq);
    const all = { env: s.env, endedBeforeMs: 0, limit: 10 };
    same(await s.store.runs.prune({ ...all, states: ["completed"] }), 0, "pruned without the parent");
    same(await s.store.runs.countPrunable({ ...all, states: ["completed"] }), {}, "countPrunable");
    matches(await s.run(child), { state: "completed" }, "child");
    same(await s.store.runs.prune(all), 2, "pruned with the parent");
  },

  "a key that is reserved for a time outlives its run, and is free afterwards": async (s) => {
    const key = s.newKey({ lifetime: { forMs: LONG_MS } });
    const claim = await s.start({ key });
    await s.accept(claim, [complete]);
    const all = { env: s.env, endedBeforeMs: 0, limit: 10 };
    same(await s.store.runs.prune(all), 1, "pruned");
    const again = s.newRun({ key });
    same(await s.store.runs.insert([again]), [{ outcome: "existing", runId: claim.runId }], "started again");
    const round = { part: "keys", env: s.env, everyMs: 0, limit: 10 } as const;
    same(await s.store.cleanUp(round), { removed: 0, more: false }, "keys that still hold");
    const short = await s.start({ key: s.newKey({ key: "short", lifetime: { forMs: SHORT_MS } }) });
    await s.accept(short, [complete]);
    await s.advance(PAST_MS);
    same(await s.store.runs.prune(all), 1, "pruned with its key");
    same(await s.store.cleanUp(round), { removed: 0, more: false }, "keys that are left");
  },

  "clean-up removes ended runs by their age, a child after its parent, within its env (S20)": async (s) => {
    const { parent, seq, child } = await family(s);
    const other = await completed(s);
    const round = { part: "runs", env: s.env, everyMs: 0, keepMs: 0, limit: 10 } as const;
    same(await s.store.cleanUp({ ...round, env: `${s.env}-2` }), { removed: 0, more: false }, "of another env");
    same(
      await s.store.cleanUp({ part: "runs", env: s.env, everyMs: 0, limit: 10 }),
      { removed: 0, more: false },
      "by the store's settings",
    );
    same(await s.store.cleanUp({ ...round, keepMs: LONG_MS }), { removed: 0, more: false }, "young ones");
    same(await s.store.cleanUp(round), { removed: 1, more: false }, "the one without a parent");
    same(await s.store.runs.get(other), null, "its record");
    await s.accept(parent, [fail()], seq);
    same(await s.store.cleanUp({ ...round, limit: 1 }), { removed: 1, more: true }, "the parent");
    matches(await s.run(child), { state: "completed" }, "child");
    same(await s.store.cleanUp(round), { removed: 1, more: false }, "the child");
    same(await s.store.journal.read(child), null, "its journal");
  },
});
