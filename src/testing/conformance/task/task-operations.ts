// Operations on a run with tasks: pause, resume, cancel, retry; and reading and repairing.

import type { Effect } from "../../../kernel/run/effect.js";
import { GIVEN } from "../../../store/contract/journal/journal.js";
import { cases } from "../case.js";
import { matches, same, some } from "../expect.js";
import { complete, fail, handBack, PAST_MS, park, retry, SHORT_MS } from "../scene.js";
import { claimTasks, enqueue, family, ME, one, states, TASKS } from "./task-family.js";

export const taskOperationCases = cases("tasks", {
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

  "the tasks of a run are cancelled without it: those that run are asked to end, and counted": async (s) => {
    const { parent, ids } = await family(s, [[], [0]]);
    const running = await one(s);
    same(await s.store.runs.cancelTasks(parent.runId, ME), 1, "still running");
    same(await states(s, ids), ["running", "cancelled"], "tasks");
    same(await s.unreadKeys(running.runId), ["cancel"], "the one that runs is asked");
    matches(await s.run(parent.runId), { state: "parked", pending: 1 }, "its run waits for that one");
    same(await s.store.runs.cancelTasks(parent.runId, ME), 1, "once more");
    same(await s.store.runs.cancelTasks(s.id(), ME), 0, "unknown");
  },

  "a running run is paused when it is released, however that happens": async (s) => {
    for (const effect of [handBack, retry(0), park()]) {
      const claim = await s.start();
      same(await s.store.runs.pause(claim.runId, ME), { outcome: "requested" }, "answer");
      same((await s.unreadKeys(claim.runId)).length, 1, "its holder is notified");
      await s.accept(claim, [effect]);
      matches(await s.run(claim.runId), { state: "paused", wakeAt: null }, "released");
      await s.store.runs.cancel(claim.runId, ME);
    }
    const claim = await s.start({}, { leaseMs: SHORT_MS });
    await s.store.runs.pause(claim.runId, ME);
    await s.advance(PAST_MS);
    const reclaimed = await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
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
    matches(await s.run(claim.runId), { state: "waiting" }, "released");
    const again = await s.claimOne();
    await s.store.runs.pause(again.runId, ME);
    await s.accept(again, [complete]);
    matches(await s.store.runs.pause(again.runId, ME), { outcome: "ended", state: "completed" }, "ended");
    same(await s.store.runs.pause(s.id(), ME), { outcome: "unknown" }, "unknown");
  },

  "a task with a limit that is started while its parent is being paused waits in no line until it is resumed": async (
    s,
  ) => {
    const parent = await s.start();
    await s.store.runs.pause(parent.runId, ME);
    const task = s.newRun({ group: TASKS, limits: [{ kind: "slots", key: "few", max: 1 }] });
    await s.accept(parent, [enqueue(task), park({ wakeAfter: 1000, forTasks: true })]);
    await s.store.runs.admit({ runIds: [task.id] });
    matches(await s.run(task.id), { state: "paused" }, "started");
    const other = await s.insert({ group: { queue: "others" }, limits: [{ kind: "slots", key: "few", max: 1 }] });
    matches(await s.run(other.id), { state: "waiting" }, "one that comes later passes it");
    await s.store.runs.cancel(other.id, ME);
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

  "a request to a run and its tasks is unanswered while one of them has not taken it in": async (s) => {
    const { parent, ids } = await family(s, [[], [0]]);
    const claim = await one(s);
    await s.store.runs.pause(parent.runId, ME);
    same(await s.store.runs.stopping(parent.runId), { state: "paused", running: 1, unanswered: 1 }, "paused");
    const [asked] = await s.store.inbox.unread(claim.runId);
    await s.store.runs.resume(parent.runId, ME);
    matches(await s.store.runs.stopping(parent.runId), { unanswered: 0 }, "resumed: nothing waits for the pause");
    await s.store.runs.cancel(parent.runId, ME);
    matches(await s.store.runs.stopping(parent.runId), { running: 1, unanswered: 2 }, "cancelled: it and its task");
    const takes = [some(asked, "the pause").key, "cancel"].map((messageKey) => ({ kind: "take", messageKey }) as const);
    await s.accept(claim, takes);
    matches(await s.store.runs.stopping(parent.runId), { unanswered: 1 }, "the task has it");
    matches(await s.run(some(ids[1], "behind")), { state: "cancelled" }, "behind");
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
    same(await s.store.runs.retry([parent.runId], call), [{ outcome: "retried" }], "answer");
    same(await s.store.runs.retry([parent.runId], call), [{ outcome: "retried" }], "the same call");
    const opened = ids.filter((id) => id !== good?.runId);
    same(await states(s, opened), ["waiting", "blocked", "blocked"], "opened");
    same(await Promise.all(opened.map(async (id) => (await s.run(id)).pending)), [0, 1, 1], "pending");
    matches(await s.run(parent.runId), { state: "waiting", pending: 3, generation: 1 }, "parent");
  },

  "a run that is named twice in a retry counts its tasks once": async (s) => {
    const { parent, ids } = await family(s, [[], [0]]);
    await s.accept(await one(s), [fail()]);
    await s.accept(await one(s), [fail("skipped")]);
    await s.accept(await s.claimOne(), [fail()]);
    const call = { by: "me", callId: s.token(), fromStart: false };
    const twice = await s.store.runs.retry([parent.runId, parent.runId], call);
    same(twice, [{ outcome: "retried" }, { outcome: "retried" }], "answers");
    same(await Promise.all([parent.runId, ...ids].map(async (id) => (await s.run(id)).pending)), [2, 0, 1], "pending");
  },

  "a retry also opens what succeeded behind a failure, to begin again; what is not behind it stays": async (s) => {
    const { parent, ids } = await family(s, [[], [], [0, 1], [2], [0]]);
    const [good, bad, join, last, apart] = ids as [string, string, string, string, string];
    for (const claim of await claimTasks(s)) await s.accept(claim, [claim.runId === bad ? fail() : complete]);
    for (const claim of await claimTasks(s)) await s.accept(claim, [complete]);
    await s.accept(await one(s), [complete]);
    await s.accept(await s.claimOne(), [fail()]);
    const before = await s.run(join);
    await s.store.runs.retry([parent.runId], { by: "me", callId: s.token(), fromStart: false });
    same(
      await states(s, [good, bad, join, last, apart]),
      ["completed", "waiting", "blocked", "blocked", "completed"],
      "",
    );
    matches(await s.run(bad), { baseSeq: 0, generation: 1 }, "the failed one continues where it was");
    const opened = await s.run(join);
    matches(
      opened,
      { baseSeq: before.seq, seq: before.seq + 1, generation: 1, pending: 1 },
      "one behind it begins again",
    );
    same(await s.log(join), ["start"], "its journal");
    const [start] = await s.store.journal.peek([{ runId: join, what: "start" }]);
    matches(start?.entry, { name: "me", payload: s.newRun({}).input }, "with its input");
    matches(await s.run(parent.runId), { state: "waiting", pending: 3 }, "parent");
    await s.accept(await one(s), [complete]);
    same(await states(s, [join, last]), ["waiting", "blocked"], "counted down");
    same((await s.store.runs.reconcile()).replayed, 0, "counts");
  },

  "tasks that are named are retried, with what was skipped behind them or with everything behind them": async (s) => {
    const { parent, ids } = await family(s, [[], [0], [1], []]);
    const [first, second, third, apart] = ids as [string, string, string, string];
    for (const claim of await claimTasks(s)) await s.accept(claim, [complete]);
    await s.accept(await one(s), [complete]);
    await s.accept(await one(s), [fail("skipped")]);
    await s.accept(await s.claimOne(), [complete]);
    const call = (tasks: readonly string[], after: boolean) => {
      return { by: "me", callId: s.token(), fromStart: false, tasks, after };
    };
    const none = [{ outcome: "not retryable", state: "completed" }];
    same(await s.store.runs.retry([parent.runId], call([s.id()], true)), none, "a task of no run");
    same(await s.store.runs.retry([parent.runId], { ...call([], true) }), none, "no task");
    const asked = call([second], false);
    same(await s.store.runs.retry([parent.runId], asked), [{ outcome: "retried" }], "one");
    same(await s.store.runs.retry([parent.runId], asked), [{ outcome: "retried" }], "the same call");
    same(await states(s, [first, second, third, apart]), ["completed", "waiting", "blocked", "completed"], "opened");
    same((await s.run(second)).generation, 1, "once");
    matches(await s.run(parent.runId), { state: "waiting", pending: 2, generation: 1 }, "parent");
    const busy = await s.store.runs.retry([parent.runId], call([first], true));
    same(busy, [{ outcome: "not retryable", state: "waiting" }], "a run that has not ended");
    await s.accept(await one(s), [complete]);
    await s.accept(await one(s), [complete]);
    await s.accept(await s.claimOne(), [complete]);
    same(await s.store.runs.retry([parent.runId], call([first], true)), [{ outcome: "retried" }], "with all after it");
    same(await states(s, [first, second, third, apart]), ["waiting", "blocked", "blocked", "completed"], "opened");
  },

  "a failed task stays while one that needs it has begun and not ended": async (s) => {
    const parent = await s.start({ crashLimit: 1 });
    const tasks = [s.newRun({ group: TASKS }), s.newRun({ group: TASKS }), s.newRun({ group: TASKS })];
    const [bad, join, blocked] = tasks.map(({ id }) => id) as [string, string, string];
    const starts = [enqueue(tasks[0]!), enqueue(tasks[1]!, [bad]), enqueue(tasks[2]!, [bad, join])];
    await s.accept(parent, [...starts, park({ wakeInMs: 1, wakeAfter: 1000, forTasks: true })]);
    await s.accept(await one(s), [fail()]);
    const working = await one(s);
    await s.advance(1);
    await s.wakeLeftovers();
    await s.advance(1);
    await s.claimOne({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    matches(await s.run(parent.runId), { state: "dead", pending: 2 }, "dead before its tasks");
    const call = () => ({ by: "me", callId: s.token(), fromStart: false });
    same(await s.store.runs.retry([parent.runId], call()), [{ outcome: "retried" }], "answer");
    same(await states(s, [bad, join, blocked]), ["failed", "running", "blocked"], "left");
    matches(await s.run(blocked), { pending: 1 }, "waits for the one that works");
    await s.accept(working, [complete]);
    same((await s.store.runs.reconcile()).replayed, 0, "counts");
  },

  "a task is not opened without its run, and with it once": async (s) => {
    const { parent, ids } = await family(s, [[], []]);
    const [first, second] = await claimTasks(s);
    await s.accept(some(first, "first"), [fail()]);
    await s.accept(some(second, "second"), [fail("dead")]);
    const [id, other] = [some(ids[0], "first"), some(ids[1], "second")];
    const call = () => ({ by: "me", callId: s.token(), fromStart: false });
    same(await s.store.runs.retry([id], call()), [{ outcome: "task", of: parent.runId }], "alone");
    same(
      await s.store.runs.retry([id], { ...call(), fromStart: true }),
      [{ outcome: "task", of: parent.runId }],
      "restarted",
    );
    same(await states(s, ids), ["failed", "dead"], "untouched");
    const woken = await s.claimOne();
    await s.accept(woken, [fail()]);
    const all = await s.store.runs.retry([id, parent.runId, other], call());
    same(all, [{ outcome: "retried" }, { outcome: "retried" }, { outcome: "retried" }], "together");
    matches(await s.run(parent.runId), { state: "waiting", pending: 2 }, "parent");
    same(await Promise.all(ids.map(async (one) => (await s.run(one)).generation)), [1, 1], "opened once");
  },

  "started over, a run has no tasks": async (s) => {
    const { parent } = await family(s, [[]]);
    await s.accept(await one(s), [fail()]);
    const woken = await s.claimOne();
    await s.accept(woken, [fail()]);
    await s.store.runs.retry([parent.runId], { by: "me", callId: s.token(), fromStart: true });
    matches(await s.run(parent.runId), { state: "waiting", pending: 0 }, "parent");
    same((await claimTasks(s)).length, 0, "nothing of the old generation is opened");
  },

  "started over after it died before its tasks, a run has left them, and their ends wake nothing": async (s) => {
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
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    matches(await s.run(parent.runId), { state: "dead", pending: 2 }, "dead");
    const call = { by: "me", callId: s.token(), fromStart: true };
    same(await s.store.runs.retry([parent.runId], call), [{ outcome: "retried" }], "answer");
    same(await s.store.runs.retry([parent.runId], call), [{ outcome: "retried" }], "the same call");
    same(await states(s, [old[0]!.id, old[1]!.id]), ["running", "cancelled"], "what it left");
    same(await s.unreadKeys(late.runId), ["cancel"], "the one that runs is asked to end");
    await s.advance(1);
    const again = await s.claimOne();
    const run = s.newRun({ group: TASKS });
    await s.accept(again, [enqueue(run), park({ wakeAfter: 1000, forTasks: true })]);
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
    const [start, first, second, missing] = await s.store.journal.peek(wanted);
    matches(start?.entry, { kind: "start", seq: 1 }, "input");
    matches(first, { state: "completed" }, "ended");
    matches(first?.entry, { kind: "completed" }, "its end");
    same([second?.state, second?.entry], ["waiting", null], "not ended");
    same(missing, null, "unknown");
  },

  "a claim on a task has its parent's input and the ends of its needs": async (s) => {
    const { parent } = await family(s, [[], [], [0, 1]]);
    const firsts = await claimTasks(s);
    same(
      firsts.map(({ given }) => given.map(({ runId, what }) => [runId, what])),
      firsts.map(() => [[parent.runId, "start"]]),
      "without needs",
    );
    const long: Effect = { kind: "complete", output: { codec: "json", data: JSON.stringify("x".repeat(GIVEN.bytes)) } };
    await s.accept(firsts[0]!, [complete]);
    await s.accept(firsts[1]!, [long]);
    const last = await one(s);
    const [start, end, ...more] = last.given;
    matches(start, { runId: parent.runId, what: "start" }, "its parent");
    matches(start?.entry, { kind: "start", seq: 1 }, "its input");
    matches(end, { runId: firsts[0]!.runId, what: "end", state: "completed" }, "a need");
    matches(end?.entry, { kind: "completed" }, "its end");
    same(more, [], "one with a long end is left to be read");
    same((await s.start()).given, [], "no task");
  },

  "a claim on a task with many needs has none of them": async (s) => {
    const needs = Array.from({ length: GIVEN.needs + 1 }, (_, i) => i);
    await family(s, [...needs.map(() => []), needs, needs.slice(1)]);
    for (const task of await claimTasks(s)) await s.accept(task, [complete]);
    const lasts = await claimTasks(s);
    same(
      lasts.map(({ given }) => given.length).sort((a, b) => a - b),
      [1, 1 + GIVEN.needs],
      "its parent, and needs",
    );
    const { given } = lasts.find((task) => task.given.length > 1)!;
    const ends = given.slice(1).map(({ runId }) => runId);
    same(ends, [...ends].sort(), "in the order of their ids");
  },

  "nothing is to be repaired where nothing was changed by hand": async (s) => {
    await family(s, [[], [0], [0, 1]]);
    await s.accept(await one(s), [complete]);
    const { replayed, skipped } = await s.store.runs.reconcile();
    same([replayed, skipped > 0], [0, true], "reconciled");
  },
});
