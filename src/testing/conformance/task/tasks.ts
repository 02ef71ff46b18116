// Tasks: their ends are counted in the rows that wait for them, however they end.

import type { NewRun } from "../../../kernel/run/new-run.js";
import { cases } from "../case.js";
import { matches, refused, same, some } from "../expect.js";
import { complete, fail, handBack, PAST_MS, park, retry, SHORT_MS } from "../scene.js";
import { claimTasks, enqueue, family, next, one, states, TASKS } from "./task-family.js";

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
    for (const effect of [complete, fail(), fail("skipped"), fail("cancelled"), fail("dead")]) {
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

  "a task that died is counted, and its parent is notified": async (s) => {
    const { parent, ids } = await family(s, [[], [0]], { crashLimit: 1 });
    await one(s, SHORT_MS);
    await s.advance(PAST_MS);
    const reclaimed = await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    matches(
      reclaimed.find(({ runId }) => runId === ids[0]),
      { outcome: "dead" },
      "answer",
    );
    same(await states(s, ids), ["dead", "waiting"], "tasks");
    same(await s.unreadKeys(parent.runId), [`child:${ids[0]}`], "news");
  },

  "a task and a task of its own that die in one round are both counted, whichever is reclaimed first": async (s) => {
    for (const itemFirst of [true, false]) {
      const { parent, ids } = await family(s, [[], [0]], { crashLimit: 1 });
      const item = s.newRun({ group: TASKS, crashLimit: 1 });
      await s.accept(await one(s), [enqueue(item), handBack]);
      const [early, late] = [SHORT_MS, 2 * SHORT_MS];
      const fan = await next(s, itemFirst ? late : early);
      same((await next(s, itemFirst ? early : late)).runId, item.id, "the item is claimed after it");
      await s.advance(2 * PAST_MS);
      const reclaimed = await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
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
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    matches(await s.run(some(ids[1], "behind")), { state: "blocked", pending: 1 }, "behind");
  },

  "only a failure is reported to the parent, and wakes it when it waits for that": async (s) => {
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

  "a task's id is taken once, and it needs only tasks that precede it in its commit": async (s) => {
    const parent = await s.start();
    const [a, b] = [s.newRun({ group: TASKS }), s.newRun({ group: TASKS })];
    refused(await s.commit(parent, [enqueue(a, [b.id]), enqueue(b)]), "a need that comes after");
    refused(await s.commit(parent, [enqueue(a), enqueue(b, [a.id, a.id])]), "a need twice");
    const seq = await s.accept(parent, [enqueue(a)]);
    refused(await s.commit(parent, [enqueue(a)], seq), "an id that is there");
    matches(await s.run(parent.runId), { pending: 1 }, "parent");
  },
});
