// Generations: a run that continues as new, and one that an operator retries (S16).

import type { Effect } from "../../../kernel/run/effect.js";
import type { RetryCall } from "../../../store/contract/run/retry.js";
import { cases } from "../case.js";
import { holds, matches, same, some } from "../expect.js";
import { append, complete, fail, LONG_MS, payload, retry, type Scene, take } from "../scene.js";

const continueAsNew = (input: unknown, reopen: readonly string[] = []): Effect => ({
  kind: "continue",
  input: payload(input),
  reopen,
});
const CALL = "00000000-0000-4000-8000-00000000000a";
const retryCall = (options: Partial<RetryCall> = {}): RetryCall => ({
  by: "ann",
  callId: CALL,
  fromStart: false,
  ...options,
});

async function entries(s: Scene, runId: string) {
  return some(await s.store.journal.read(runId), "journal").entries;
}

export const generationCases = cases("generations", {
  "a run that continues as new is claimable at once, with its new input and an empty journal": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [append("a"), continueAsNew("again")]);
    const run = await s.run(claim.runId);
    matches(run, { state: "waiting", generation: 1, seq: 3, baseSeq: 2, owner: null, crashes: 0 }, "record");
    const [entry] = await entries(s, claim.runId);
    matches(entry!, { seq: 3, kind: "start", payload: payload("again"), epoch: 1 }, "the entry it begins with");
    const next = await s.claimOne();
    matches(next, { seq: 3, baseSeq: 2, generation: 1, epoch: 2, failures: 0 }, "claim");
    same(next.input, payload("again"), "input");
  },

  "the failures of one generation do not count in the next": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [retry(0)]);
    const again = await s.claimOne();
    same(again.failures, 1, "failures before");
    await s.accept(again, [continueAsNew(1)]);
    same((await s.claimOne()).failures, 0, "failures after");
  },

  "messages that were taken in and not delivered are unread again": async (s) => {
    const claim = await s.start();
    const [heard, unheard] = [s.message(claim.runId), s.message(claim.runId)];
    await s.store.inbox.send([heard, unheard]);
    await s.accept(claim, [take(heard.key), take(unheard.key), continueAsNew(1, [unheard.key])]);
    same(await s.unreadKeys(claim.runId), [unheard.key], "unread");
    const next = await s.claimOne();
    holds(next.hasMessages, "the next holder gets them");
    await s.accept(next, [take(unheard.key), complete]);
  },

  "a repeated commit that continues as new finds itself": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [continueAsNew(1)]);
    same(await s.commit(claim, [continueAsNew(1)]), { outcome: "recorded", seq: claim.seq + 1 }, "repeat");
    same(await s.commit(claim, [continueAsNew(2)]), { outcome: "lost" }, "another one");
    same((await s.run(claim.runId)).generation, 1, "generation");
  },

  "failed, dead and quarantined runs are retried where they stopped": async (s) => {
    for (const as of ["failed", "dead", "quarantined"] as const) {
      const claim = await s.start();
      await s.accept(claim, [append("a"), fail(as)]);
      same(await s.store.runs.retry([claim.runId], retryCall()), [{ outcome: "retried" }], "answer");
      matches(
        await s.run(claim.runId),
        { state: "waiting", generation: 1, baseSeq: 0, seq: 4, endedAt: null, failures: 0, crashes: 0 },
        "record",
      );
      same(await s.log(claim.runId), ["start", "step", as, "retried"], "log");
      const last = (await entries(s, claim.runId)).at(-1)!;
      matches(last, { name: "ann", key: CALL, payload: null, epoch: 0 }, "who opened it");
      const next = await s.claimOne();
      matches(next, { seq: 4, baseSeq: 0, generation: 1 }, "claim");
      await s.accept(next, [complete]);
    }
  },

  "a note for the program is in the entry of the retry, and is rejected from the start": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [fail()]);
    const note = payload("go back");
    const problem = await s.store.runs.retry([claim.runId], retryCall({ fromStart: true, note })).then(
      () => null,
      (error) => error.code,
    );
    same(problem, "INVALID_INPUT", "from the start");
    await s.store.runs.retry([claim.runId], retryCall({ note }));
    matches((await entries(s, claim.runId)).at(-1)!, { kind: "retried", name: "ann", payload: note }, "entry");
  },

  "from the start: the same input, an empty log": async (s) => {
    const claim = await s.start({ input: payload("first") });
    await s.accept(claim, [append("a"), fail()]);
    await s.store.runs.retry([claim.runId], retryCall({ fromStart: true }));
    const next = await s.claimOne();
    matches(next, { seq: 4, baseSeq: 3, generation: 1 }, "claim");
    same(next.input, payload("first"), "input");
    same(await s.log(claim.runId), ["start"], "log");
  },

  "other runs are not opened, and each answers for itself": async (s) => {
    const done = await s.start();
    await s.accept(done, [complete]);
    const failed = await s.start();
    await s.accept(failed, [fail()]);
    const waiting = await s.insert({ delayMs: LONG_MS });
    const unknown = "00000000-0000-7000-8000-00000000000b";
    same(
      await s.store.runs.retry([done.runId, failed.runId, waiting.id, unknown, "?"], retryCall()),
      [
        { outcome: "not retryable", state: "completed" },
        { outcome: "retried" },
        { outcome: "not retryable", state: "waiting" },
        { outcome: "unknown" },
        { outcome: "unknown" },
      ],
      "answers",
    );
    same((await s.run(done.runId)).seq, done.seq + 1, "the completed run");
  },

  "a rewind also opens completed, cancelled and paused runs, once, and no live one": async (s) => {
    const completed = await s.start();
    await s.accept(completed, [complete]);
    const cancelled = await s.insert();
    await s.store.runs.cancel(cancelled.id, { by: "bob" });
    const paused = await s.insert();
    await s.store.runs.pause(paused.id, { by: "bob" });
    const waiting = await s.insert({ delayMs: LONG_MS });
    const ids = [completed.runId, cancelled.id, paused.id, waiting.id];
    const call = retryCall({ note: payload("to the gate"), rewinds: true });
    const answers = [
      ...ids.slice(1).map(() => ({ outcome: "retried" })),
      { outcome: "not retryable", state: "waiting" },
    ];
    for (let i = 0; i < 2; i++) same(await s.store.runs.retry(ids, call), answers, "answers");
    for (const id of ids.slice(0, 3)) {
      matches(await s.run(id), { state: "waiting", generation: 1 }, "run");
      matches((await entries(s, id)).at(-1)!, { kind: "retried", payload: payload("to the gate") }, "entry");
    }
  },

  "opening twice by one call, repeated, opens once": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [fail()]);
    for (let i = 0; i < 2; i++)
      same(await s.store.runs.retry([claim.runId], retryCall()), [{ outcome: "retried" }], "answer");
    same((await s.run(claim.runId)).generation, 1, "generation");
    const next = await s.claimOne();
    same(await s.store.runs.retry([claim.runId], retryCall()), [{ outcome: "retried" }], "while it runs");
    await s.accept(next, [fail()]);
    await s.store.runs.retry([claim.runId], retryCall({ callId: "00000000-0000-4000-8000-00000000000c" }));
    same((await s.run(claim.runId)).generation, 2, "generation after another call");
  },

  "messages that came too late for its end are unread again, a request to cancel it is forgotten": async (s) => {
    const claim = await s.start();
    const message = s.message(claim.runId);
    await s.store.inbox.send([message]);
    same(await s.store.runs.cancel(claim.runId, { by: "bob" }), { outcome: "requested" }, "cancel");
    await s.accept(claim, [fail()]);
    same(await s.unreadKeys(claim.runId), [], "unread while ended");
    await s.store.runs.retry([claim.runId], retryCall());
    same(await s.unreadKeys(claim.runId), [message.key], "unread");
    await s.claimOne();
    same(await s.store.runs.cancel(claim.runId, { by: "bob" }), { outcome: "requested" }, "cancel again");
    same(await s.unreadKeys(claim.runId), [message.key, "cancel"], "the new request is there");
  },

  "a run that is due later is announced, one that is due is due now": async (s) => {
    const groupIds = await s.store.runs.groupIds([s.group()]);
    same(await s.store.runs.nextDue(groupIds), null, "without runs");
    same(await s.store.runs.nextDue([]), null, "without groups");
    await s.insert({ delayMs: LONG_MS });
    const first = some(await s.store.runs.nextDue(groupIds), "with one");
    holds(first > 0 && first <= LONG_MS, `due in ${first} ms`);
    await s.insert({ delayMs: LONG_MS / 2, priority: 7 });
    const second = some(await s.store.runs.nextDue(groupIds), "with another priority");
    holds(second > 0 && second <= LONG_MS / 2, `due in ${second} ms`);
    await s.insert({ priority: 3 });
    holds(some(await s.store.runs.nextDue(groupIds), "with one that is due") <= 0, "due now");
    await s.advance(1);
    const third = some(await s.store.runs.nextDue(groupIds, { recentMs: 0 }), "without what is due");
    holds(third > 0 && third <= LONG_MS / 2, `due in ${third} ms`);
    holds(some(await s.store.runs.nextDue(groupIds, { recentMs: LONG_MS }), "recent") <= 0, "due in that time");
  },
});
