// Tasks: their ends are counted in the rows that wait for them, whoever ends them and however; pause, resume, cancel, retry.

import type { Effect } from "../../kernel/effect.js";
import type { NewRun } from "../../kernel/new-run.js";
import type { RunState } from "../../kernel/run-state.js";
import type { ClaimedRun } from "../../store/contract/runs.js";
import { cases } from "./case.js";
import { matches, refused, same, some } from "./expect.js";
import { complete, fail, handBack, LONG_MS, PAST_MS, park, retry, type Scene, SHORT_MS } from "./scene.js";

const TASKS = { queue: "tasks", program: "task" };
const ME = { by: "me" };

const enqueue = (run: NewRun, needs: readonly string[] = []): Effect => ({
  kind: "enqueue",
  name: "task",
  run,
  task: { needs },
});

/** A parent that waits for tasks with these needs, given by their places. */
async function family(s: Scene, needs: readonly (readonly number[])[], options: Partial<NewRun> = {}) {
  const parent = await s.start();
  const runs = needs.map(() => s.newRun({ ...options, group: TASKS }));
  const ids = runs.map(({ id }) => id);
  const effects = runs.map((run, i) =>
    enqueue(
      run,
      needs[i]!.map((need) => ids[need]!),
    ),
  );
  await s.accept(parent, [...effects, park({ wakeAfter: 1000, forTasks: true })]);
  return { parent, ids };
}

async function claimTasks(s: Scene, leaseMs = LONG_MS): Promise<readonly ClaimedRun[]> {
  await s.advance(1);
  return s.claim({ groupIds: await s.store.runs.groupIds([s.group(TASKS)]), leaseMs });
}

const one = async (s: Scene, leaseMs = LONG_MS) => some((await claimTasks(s, leaseMs))[0], "a claimable task");
/** The first of them, and no other. */
const next = async (s: Scene, leaseMs: number) => {
  await s.advance(1);
  return s.claimOne({ groupIds: await s.store.runs.groupIds([s.group(TASKS)]), leaseMs, limit: 1 });
};
const states = async (s: Scene, ids: readonly string[]): Promise<readonly RunState[]> =>
  Promise.all(ids.map(async (id) => (await s.run(id)).state));

export const taskCases = cases("tasks", {
  "a task without needs waits, others are blocked; the parent waits for all of them": async (s) => {
    const { parent, ids } = await family(s, [[], [0], [0, 1]]);
    same(await states(s, ids), ["waiting", "blocked", "blocked"], "tasks");
    same(await Promise.all(ids.map(async (id) => (await s.run(id)).pending)), [0, 1, 2], "pending");
    matches(await s.run(parent.runId), { state: "parked", pending: 3 }, "parent");
    same(
      (await claimTasks(s)).map(({ runId, counts }) => [runId, counts]),
      [[ids[0], true]],
      "claimable",
    );
  },

  "a refused commit leaves no needs on the task that another one of the call starts under the same id": async (s) => {
    const [stale, parent] = [await s.start(), await s.start()];
    const [first, second, third] = [0, 1, 2].map(() => s.newRun({ group: TASKS })) as [NewRun, NewRun, NewRun];
    const waits = park({ forTasks: true });
    const late = [enqueue(first), enqueue(third, [first.id]), waits];
    const good = [enqueue(first), enqueue(second), enqueue(third, [second.id]), waits];
    const answers = await s.store.runs.commit([
      { claim: stale, expectedSeq: stale.seq + 1, effects: late },
      { claim: parent, expectedSeq: parent.seq, effects: good },
    ]);
    same(
      answers.map(({ outcome }) => outcome),
      ["moved", "accepted"],
      "answers",
    );
    const claims = await claimTasks(s);
    for (const { id } of [first, second]) {
      matches(await s.run(third.id), { state: "blocked", pending: 1 }, "before the need has ended");
      await s.accept(
        some(
          claims.find(({ runId }) => runId === id),
          "the claim",
        ),
        [complete],
      );
    }
    matches(await s.run(third.id), { state: "waiting", pending: 0 }, "after it");
  },

  "an end makes ready what needed only that, in the same commit; the last one wakes the parent": async (s) => {
    const { parent, ids } = await family(s, [[], [0]]);
    await s.accept(await one(s), [complete]);
    same(await states(s, ids), ["completed", "waiting"], "after the first");
    matches(await s.run(parent.runId), { state: "parked", pending: 1, inboxSeq: 0 }, "parent");
    await s.accept(await one(s), [complete]);
    matches(await s.run(parent.runId), { state: "waiting", pending: 0, inboxSeq: 0 }, "parent after all");
    same(await s.unreadKeys(parent.runId), [], "no message for those that succeeded");
  },

  "two needs that end in one call count twice": async (s) => {
    const { parent, ids } = await family(s, [[], [], [0, 1]]);
    const claims = await claimTasks(s);
    await s.store.runs.commit(claims.map((claim) => ({ claim, expectedSeq: claim.seq, effects: [complete] })));
    matches(await s.run(some(ids[2], "join")), { state: "waiting", pending: 0 }, "join");
    matches(await s.run(parent.runId), { pending: 1 }, "parent");
  },

  "every way to end counts": async (s) => {
    for (const effect of [complete, fail(), fail("skipped"), fail("cancelled"), fail("quarantined"), fail("dead")]) {
      const { parent, ids } = await family(s, [[], [0]]);
      await s.accept(await one(s), [effect]);
      matches(await s.run(some(ids[1], "behind")), { state: "waiting" }, `behind ${JSON.stringify(effect)}`);
      await s.accept(await one(s), [complete]);
      matches(await s.run(parent.runId), { state: "waiting" }, "parent");
      await s.claimOne();
    }
  },

  "a claim that does not say that it is a task's ends it all the same": async (s) => {
    const { ids } = await family(s, [[], [0]]);
    const { runId, epoch, token, seq } = await one(s);
    const [answer] = await s.store.runs.commit([
      { claim: { runId, epoch, token }, expectedSeq: seq, effects: [complete] },
    ]);
    same(answer?.outcome, "accepted", "answer");
    matches(await s.run(some(ids[1], "behind")), { state: "waiting" }, "behind");
  },

  "a task that died is counted, and its parent is told": async (s) => {
    const { parent, ids } = await family(s, [[], [0]], { crashLimit: 1 });
    await one(s, SHORT_MS);
    await s.advance(PAST_MS);
    const reclaimed = await s.store.runs.sweepExpired({ limit: 1000 });
    matches(
      reclaimed.find(({ runId }) => runId === ids[0]),
      { outcome: "dead" },
      "answer",
    );
    same(await states(s, ids), ["dead", "waiting"], "tasks");
    same(await s.unreadKeys(parent.runId), [`child:${ids[0]}`], "news");
  },

  "a task and a task of its own that die in one sweep are both counted, whoever is taken first": async (s) => {
    for (const itemFirst of [true, false]) {
      const { parent, ids } = await family(s, [[], [0]], { crashLimit: 1 });
      const item = s.newRun({ group: TASKS, crashLimit: 1 });
      await s.accept(await one(s), [enqueue(item), handBack]);
      const [early, late] = [SHORT_MS, 2 * SHORT_MS];
      const fan = await next(s, itemFirst ? late : early);
      same((await next(s, itemFirst ? early : late)).runId, item.id, "the item is claimed after it");
      await s.advance(2 * PAST_MS);
      const reclaimed = await s.store.runs.sweepExpired({ limit: 1000 });
      const died = reclaimed.filter(({ runId }) => runId === item.id || runId === fan.runId);
      same(
        died.map(({ runId, outcome }) => [runId === item.id, outcome]),
        [
          [itemFirst, "dead"],
          [!itemFirst, "dead"],
        ],
        "answers",
      );
      matches(await s.run(fan.runId), { state: "dead", pending: 0 }, "the fan-out");
      same(await states(s, ids), ["dead", "waiting"], "the one behind it is ready");
      matches(await s.run(parent.runId), { state: "parked", pending: 1 }, "parent");
      same(await s.unreadKeys(fan.runId), [], "its messages are closed");
      await s.accept(await one(s), [complete]);
      await s.claimOne();
    }
  },

  "a retry, a hand-back and a sweep are no end": async (s) => {
    const { ids } = await family(s, [[], [0]]);
    await s.accept(await one(s), [handBack]);
    await s.accept(await one(s), [retry(0)]);
    await one(s, SHORT_MS);
    await s.advance(PAST_MS);
    await s.store.runs.sweepExpired({ limit: 1000 });
    matches(await s.run(some(ids[1], "behind")), { state: "blocked", pending: 1 }, "behind");
  },

  "only a failure is told to the parent, and wakes it when it waits for that": async (s) => {
    const parent = await s.start();
    const runs = [s.newRun({ group: TASKS }), s.newRun({ group: TASKS })];
    await s.accept(parent, [...runs.map((run) => enqueue(run)), park({ forTasks: true })]);
    const [first, second] = await claimTasks(s);
    await s.accept(some(first, "first"), [complete]);
    matches(await s.run(parent.runId), { state: "parked", pending: 1, inboxSeq: 0 }, "after a success");
    await s.accept(some(second, "second"), [fail()]);
    same(await s.unreadKeys(parent.runId), [`child:${second?.runId}`], "news");
  },

  "parking for tasks that have ended is waking at once": async (s) => {
    const parent = await s.start();
    const run = s.newRun({ group: TASKS });
    const seq = await s.accept(parent, [enqueue(run)]);
    await s.accept(await one(s), [complete]);
    await s.accept(parent, [park({ forTasks: true })], seq);
    matches(await s.run(parent.runId), { state: "waiting", pending: 0 }, "parent");
  },

  "a task's id is taken once, and it needs only tasks that stand before it in its commit": async (s) => {
    const parent = await s.start();
    const [a, b] = [s.newRun({ group: TASKS }), s.newRun({ group: TASKS })];
    refused(await s.commit(parent, [enqueue(a, [b.id]), enqueue(b)]), "a need that comes after");
    refused(await s.commit(parent, [enqueue(a), enqueue(b, [a.id, a.id])]), "a need twice");
    const seq = await s.accept(parent, [enqueue(a)]);
    refused(await s.commit(parent, [enqueue(a)], seq), "an id that is there");
    matches(await s.run(parent.runId), { pending: 1 }, "parent");
  },

  "a pause stops a run and its tasks, and a resume puts each back where it was": async (s) => {
    const { parent, ids } = await family(s, [[], [0]]);
    same(await s.store.runs.pause(parent.runId, ME), { outcome: "paused" }, "answer");
    same(await states(s, [parent.runId, ...ids]), ["paused", "paused", "paused"], "states");
    same((await claimTasks(s)).length, 0, "claimable");
    same(await s.store.runs.pause(parent.runId, ME), { outcome: "paused" }, "once more");
    same(await s.store.runs.resume(parent.runId, ME), { outcome: "resumed" }, "resumed");
    same(await states(s, ids), ["waiting", "blocked"], "tasks");
    same((await s.log(parent.runId)).slice(-2), ["paused", "resumed"], "journal");
    matches(await s.store.runs.resume(parent.runId, ME), { outcome: "not paused" }, "once more");
  },

  "a running run is paused when it is given back, however that happens": async (s) => {
    for (const effect of [handBack, retry(0), park()]) {
      const claim = await s.start();
      same(await s.store.runs.pause(claim.runId, ME), { outcome: "requested" }, "answer");
      same((await s.unreadKeys(claim.runId)).length, 1, "its holder is told");
      await s.accept(claim, [effect]);
      matches(await s.run(claim.runId), { state: "paused", wakeAt: null }, "given back");
      await s.store.runs.cancel(claim.runId, ME);
    }
    const claim = await s.start({}, { leaseMs: SHORT_MS });
    await s.store.runs.pause(claim.runId, ME);
    await s.advance(PAST_MS);
    const reclaimed = await s.store.runs.sweepExpired({ limit: 1000 });
    matches(
      reclaimed.find(({ runId }) => runId === claim.runId),
      { outcome: "paused" },
      "swept",
    );
  },

  "a resume before that leaves it running, and what has ended stays so": async (s) => {
    const claim = await s.start();
    await s.store.runs.pause(claim.runId, ME);
    same(await s.store.runs.resume(claim.runId, ME), { outcome: "resumed" }, "answer");
    await s.accept(claim, [handBack]);
    matches(await s.run(claim.runId), { state: "waiting" }, "given back");
    const again = await s.claimOne();
    await s.store.runs.pause(again.runId, ME);
    await s.accept(again, [complete]);
    matches(await s.store.runs.pause(again.runId, ME), { outcome: "ended", state: "completed" }, "ended");
    same(await s.store.runs.pause(s.id(), ME), { outcome: "unknown" }, "unknown");
  },

  "a task with a limit that is started while its parent is being paused stands in no line until it is resumed": async (
    s,
  ) => {
    const parent = await s.start();
    await s.store.runs.pause(parent.runId, ME);
    const task = s.newRun({ group: TASKS, limits: [{ kind: "slots", key: "few", max: 1 }] });
    await s.accept(parent, [enqueue(task), park({ wakeAfter: 1000, forTasks: true })]);
    await s.store.runs.admit({ runIds: [task.id] });
    matches(await s.run(task.id), { state: "paused" }, "started");
    await s.store.runs.resume(parent.runId, ME);
    await s.store.runs.admit({ runIds: [task.id] });
    matches(await s.run(task.id), { state: "waiting" }, "resumed");
  },

  "a task that becomes ready while it is paused stays paused": async (s) => {
    const { parent, ids } = await family(s, [[], [0]]);
    const claim = await one(s);
    same(await s.store.runs.pause(parent.runId, ME), { outcome: "requested" }, "answer");
    await s.accept(claim, [complete]);
    matches(await s.run(some(ids[1], "behind")), { state: "paused", pending: 0 }, "behind");
    await s.store.runs.resume(parent.runId, ME);
    matches(await s.run(some(ids[1], "behind")), { state: "waiting" }, "resumed");
  },

  "a cancel ends what waits, asks what runs, and the parent when nothing runs any more": async (s) => {
    const { parent, ids } = await family(s, [[], [], [0, 1]]);
    const [claim] = await claimTasks(s);
    const other = ids.filter((id) => id !== claim?.runId && id !== ids[2])[0];
    same(await s.store.runs.cancel(parent.runId, ME), { outcome: "requested" }, "answer");
    matches(await s.run(some(ids[2], "join")), { state: "cancelled" }, "blocked");
    same((await s.run(some(other, "other"))).state === "running", true, "both were claimed");
    for (const id of ids.slice(0, 2)) same(await s.unreadKeys(id), ["cancel"], "request");
    matches(await s.run(parent.runId), { pending: 2 }, "parent");
  },

  "a cancel ends all at once when nothing runs": async (s) => {
    const { parent, ids } = await family(s, [[], [0], [1]]);
    same(await s.store.runs.cancel(parent.runId, ME), { outcome: "cancelled" }, "answer");
    same(await states(s, [parent.runId, ...ids]), Array(4).fill("cancelled"), "states");
    same(await s.store.runs.cancel(parent.runId, ME), { outcome: "cancelled" }, "once more");
  },

  "a single task is cancelled, and what needs it is ready": async (s) => {
    const { parent, ids } = await family(s, [[], [0]]);
    same(await s.store.runs.cancel(some(ids[0], "first"), ME), { outcome: "cancelled" }, "answer");
    same(await states(s, ids), ["cancelled", "waiting"], "tasks");
    matches(await s.run(parent.runId), { state: "parked", pending: 1 }, "parent");
  },

  "a retry opens what did not succeed, and the skipped behind it, with their counts": async (s) => {
    const { parent, ids } = await family(s, [[], [], [0, 1], [2]]);
    const [good, bad] = await claimTasks(s);
    await s.accept(some(good, "good"), [complete]);
    await s.accept(some(bad, "bad"), [fail()]);
    await s.accept(await one(s), [fail("skipped")]);
    await s.accept(await one(s), [fail("skipped")]);
    const woken = await s.claimOne();
    await s.accept(woken, [fail()]);
    const call = { by: "me", callId: s.token(), fromStart: false };
    same(await s.store.runs.redrive([parent.runId], call), [{ outcome: "redriven" }], "answer");
    same(await s.store.runs.redrive([parent.runId], call), [{ outcome: "redriven" }], "the same call");
    const opened = ids.filter((id) => id !== good?.runId);
    same(await states(s, opened), ["waiting", "blocked", "blocked"], "opened");
    same(await Promise.all(opened.map(async (id) => (await s.run(id)).pending)), [0, 1, 1], "pending");
    matches(await s.run(parent.runId), { state: "waiting", pending: 3, generation: 1 }, "parent");
  },

  "a task is not opened without its run, and with it once": async (s) => {
    const { parent, ids } = await family(s, [[], []]);
    const [first, second] = await claimTasks(s);
    await s.accept(some(first, "first"), [fail()]);
    await s.accept(some(second, "second"), [fail("dead")]);
    const [id, other] = [some(ids[0], "first"), some(ids[1], "second")];
    const call = () => ({ by: "me", callId: s.token(), fromStart: false });
    same(await s.store.runs.redrive([id], call()), [{ outcome: "task", of: parent.runId }], "alone");
    same(
      await s.store.runs.redrive([id], { ...call(), fromStart: true }),
      [{ outcome: "task", of: parent.runId }],
      "anew",
    );
    same(await states(s, ids), ["failed", "dead"], "untouched");
    const woken = await s.claimOne();
    await s.accept(woken, [fail()]);
    const all = await s.store.runs.redrive([id, parent.runId, other], call());
    same(all, [{ outcome: "redriven" }, { outcome: "redriven" }, { outcome: "redriven" }], "together");
    matches(await s.run(parent.runId), { state: "waiting", pending: 2 }, "parent");
    same(await Promise.all(ids.map(async (one) => (await s.run(one)).generation)), [1, 1], "opened once");
  },

  "begun anew, a run has no tasks": async (s) => {
    const { parent } = await family(s, [[]]);
    await s.accept(await one(s), [fail()]);
    const woken = await s.claimOne();
    await s.accept(woken, [fail()]);
    await s.store.runs.redrive([parent.runId], { by: "me", callId: s.token(), fromStart: true });
    matches(await s.run(parent.runId), { state: "waiting", pending: 0 }, "parent");
    same((await claimTasks(s)).length, 0, "nothing of the old generation is opened");
  },

  "begun anew after it died before its tasks, a run has left them, and their ends wake nobody": async (s) => {
    const parent = await s.start({ crashLimit: 1 });
    const old = [s.newRun({ group: TASKS }), s.newRun({ group: TASKS })];
    const starts = [enqueue(old[0]!), enqueue(old[1]!, [old[0]!.id])];
    await s.accept(parent, [...starts, park({ wakeInMs: 1, wakeAfter: 1000, forTasks: true })]);
    const late = await one(s);
    await s.advance(1);
    await s.wakeLeftovers();
    await s.advance(1);
    await s.claimOne({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await s.store.runs.sweepExpired({ limit: 1000 });
    matches(await s.run(parent.runId), { state: "dead", pending: 2 }, "dead");
    const call = { by: "me", callId: s.token(), fromStart: true };
    same(await s.store.runs.redrive([parent.runId], call), [{ outcome: "redriven" }], "answer");
    same(await s.store.runs.redrive([parent.runId], call), [{ outcome: "redriven" }], "the same call");
    same(await states(s, [old[0]!.id, old[1]!.id]), ["running", "cancelled"], "what it left");
    same(await s.unreadKeys(late.runId), ["cancel"], "the one that runs is asked to end");
    await s.advance(1);
    const anew = await s.claimOne();
    const run = s.newRun({ group: TASKS });
    await s.accept(anew, [enqueue(run), park({ wakeAfter: 1000, forTasks: true })]);
    await s.accept(late, [complete]);
    matches(await s.run(parent.runId), { state: "parked", pending: 1 }, "its new task is still open");
    await s.accept(await one(s), [complete]);
    matches(await s.run(parent.runId), { state: "waiting", pending: 0 }, "now it is not");
  },

  "single entries of many runs are read in one call": async (s) => {
    const { parent, ids } = await family(s, [[], [0]]);
    await s.accept(await one(s), [complete]);
    const wanted = [
      { runId: parent.runId, what: "start" as const },
      ...ids.map((runId) => ({ runId, what: "end" as const })),
      { runId: s.id(), what: "end" as const },
    ];
    const [start, first, second, nobody] = await s.store.journal.peek(wanted);
    matches(start?.entry, { kind: "start", seq: 1 }, "input");
    matches(first, { state: "completed" }, "ended");
    matches(first?.entry, { kind: "completed" }, "its end");
    same([second?.state, second?.entry], ["waiting", null], "not ended");
    same(nobody, null, "unknown");
  },

  "nothing is to be mended where nobody meddled": async (s) => {
    await family(s, [[], [0], [0, 1]]);
    await s.accept(await one(s), [complete]);
    const { replayed, skipped } = await s.store.runs.reconcile();
    same([replayed, skipped > 0], [0, true], "reconciled");
  },
});
