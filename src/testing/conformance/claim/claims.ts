// Claims: granted in order, to one holder at a time, each with a higher epoch (S2, S3, S5, S15).

import type { ClaimedRun } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { holds, matches, rejects, same, some } from "../expect.js";
import { append, handBack, LONG_MS, PAST_MS, payload, SHORT_MS, take } from "../scene.js";

const timeless = (claims: readonly ClaimedRun[]) => claims.map((claim) => ({ ...claim, claimedAt: 0 }));
const ids = (claims: readonly { readonly runId: string }[]) => claims.map(({ runId }) => runId);

export const claimCases = cases("claims", {
  "a grant carries all that the holder needs": async (s) => {
    const run = await s.insert({ priority: 4, input: payload({ a: 1 }) });
    const request = await s.request();
    const claim = some((await s.store.runs.claim(request))[0], "claim");
    const zeros = { baseSeq: 0, generation: 0, inboxSeq: 0, failures: 0 };
    const fence = { runId: run.id, epoch: 1, token: request.token, seq: 1 };
    const given = {
      groupId: request.groupIds[0],
      priority: 4,
      parentId: null,
      limited: false,
      counts: false,
      given: [],
      log: null,
      debounce: null,
      deferredBy: null,
      input: run.input,
    };
    const { claimedAt, ...rest } = claim;
    same(rest, { ...fence, ...given, ...zeros, crashes: 1, suspect: false, hasMessages: false }, "claim");
    holds(claimedAt >= some(await s.store.runs.get(run.id), "run").createdAt, "granted after it was made");
  },

  "a grant carries the log so far, up to sixteen entries of 2,000 bytes": async (s) => {
    const first = await s.start();
    await s.accept(first, [append("a"), append("b"), handBack]);
    const next = await s.claimOne();
    same(next.log, some(await s.store.journal.read(next.runId), "journal").entries, "log");
    const long = append("long", "x".repeat(2000));
    await s.accept(next, [long, handBack]);
    same((await s.claimOne()).log, null, "with a long entry");
  },

  "a grant of a run with many entries, or with its input only, carries no log": async (s) => {
    const first = await s.start();
    same(first.log, null, "input only");
    await s.accept(first, [...Array.from({ length: 14 }, (_, i) => append(`s${i}`)), handBack]);
    const next = await s.claimOne();
    same(next.log?.length, 16, "sixteen");
    await s.accept(next, [append("one more"), handBack]);
    same((await s.claimOne()).log, null, "more");
  },

  "a grant says whether messages wait": async (s) => {
    const run = await s.insert();
    await s.store.inbox.send([s.message(run.id, { key: "signal:1" })]);
    const claim = await s.claimOne();
    same(claim.hasMessages, true, "before they are taken");
    await s.accept(claim, [take("signal:1"), handBack]);
    await s.advance(1);
    same((await s.claimOne()).hasMessages, false, "after");
  },

  "a granted run is running under its owner's lease": async (s) => {
    const { runId } = await s.start({}, { leaseMs: LONG_MS });
    const run = await s.run(runId);
    matches(run, { state: "running", epoch: 1, owner: s.owner, crashes: 1, seq: 1 }, "record");
    holds(some(run.leaseUntil, "leaseUntil") >= run.createdAt + LONG_MS, "the lease is as long as asked for");
  },

  "the same call again answers what it holds, and no more (F41)": async (s) => {
    await s.store.runs.insert([s.newRun(), s.newRun(), s.newRun()]);
    await s.advance(1);
    const request = await s.request({ limit: 2 });
    const first = await s.store.runs.claim(request);
    same(first.length, 2, "granted");
    same(timeless(await s.store.runs.claim({ ...request, limit: 100 })), timeless(first), "again");
    same(await s.store.runs.count({ env: s.env }), { running: 2, waiting: 1 }, "states");
  },

  "the same call again, after one of its runs has ended": async (s) => {
    await s.store.runs.insert([s.newRun(), s.newRun(), s.newRun()]);
    await s.advance(1);
    const request = await s.request({ limit: 2 });
    const [a, b] = await s.store.runs.claim(request);
    await s.accept(some(a, "first claim"), [handBack]);
    same(ids(await s.store.runs.claim(request)), [b?.runId], "what is still held");
  },

  "the order is priority, then time, then id": async (s) => {
    const late = await s.insert({ priority: 1 });
    await s.advance(2);
    const [b, a] = [s.newRun({ priority: 0 }), s.newRun({ priority: 0 })];
    await s.store.runs.insert([a]);
    await s.advance(2);
    await s.store.runs.insert([b]);
    const urgent = await s.insert({ priority: -1 });
    await s.advance(2);
    same(ids(await s.claim()), [urgent.id, a.id, b.id, late.id], "order");
  },

  "the order goes across groups": async (s) => {
    const groups = [s.group({ queue: "q1" }), s.group({ queue: "q2" })] as const;
    const runs = [2, 0, 3, 1].map((priority, i) => s.newRun({ priority, group: groups[i % 2]! }));
    await s.store.runs.insert(runs);
    await s.advance(1);
    const claims = await s.claim({ groupIds: await s.store.runs.groupIds(groups), limit: 3 });
    same(ids(claims), [runs[1]?.id, runs[3]?.id, runs[0]?.id], "order");
  },

  "never more than asked for (S15)": async (s) => {
    await s.store.runs.insert(Array.from({ length: 5 }, () => s.newRun()));
    await s.advance(1);
    same(await s.claim({ limit: 0 }), [], "limit 0");
    same((await s.claim({ limit: 3 })).length, 3, "limit 3");
    same((await s.claim({ limit: 3 })).length, 2, "what is left");
    same(await s.claim({ limit: 3 }), [], "nothing is left");
  },

  "only the asked groups": async (s) => {
    const mine = await s.insert();
    await s.insert({ group: { stack: "blue" } });
    await s.insert({ group: { version: "2" } });
    await s.insert({ group: { env: `${s.env}-2` } });
    same(ids(await s.claim()), [mine.id], "claimed");
    same(await s.claim({ groupIds: [] }), [], "no group asked for");
  },

  "with recentMs only what became due in that time": async (s) => {
    const { id } = await s.insert();
    await s.advance(1);
    same(await s.claim({ recentMs: 0 }), [], "longer ago");
    const [granted] = await s.claim({ recentMs: LONG_MS });
    same(granted?.runId, id, "within the time");
  },

  "a held run is not granted again, not even when its lease has expired (S3, S5)": async (s) => {
    await s.start({}, { leaseMs: SHORT_MS });
    same(await s.claim(), [], "while held");
    await s.advance(PAST_MS);
    same(await s.claim(), [], "before it was reclaimed");
  },

  "each grant raises the epoch (S2)": async (s) => {
    await s.insert();
    for (const epoch of [1, 2, 3]) {
      const claim = await s.claimOne();
      same(claim.epoch, epoch, "epoch");
      await s.accept(claim, [handBack]);
    }
  },

  "a later grant sees the log as it was left": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [append("a"), handBack]);
    matches(await s.claimOne(), { seq: 3, baseSeq: 0, epoch: 2, input: claim.input }, "claim");
  },

  "many who claim at once share the runs, none twice (F56)": async (s) => {
    const runs = Array.from({ length: 30 }, () => s.newRun());
    await s.store.runs.insert(runs);
    await s.advance(1);
    const granted: string[] = [];
    // Rows locked by a rival may be skipped; the next round finds them.
    for (let round = 0; round < 20 && granted.length < runs.length; round++) {
      const claims = await Promise.all(Array.from({ length: 8 }, () => s.claim({ limit: 4, owner: s.token() })));
      granted.push(...claims.flatMap(ids));
    }
    same([...granted].sort(), runs.map(({ id }) => id).sort(), "granted once each");
  },
});

export const renewCases = cases("renewals", {
  "a renewal prolongs the lease": async (s) => {
    const claim = await s.start({}, { leaseMs: LONG_MS });
    const before = some((await s.run(claim.runId)).leaseUntil, "lease");
    same(await s.store.runs.renew([claim], 2 * LONG_MS), [{ outcome: "held", inboxSeq: 0 }], "answer");
    holds(some((await s.run(claim.runId)).leaseUntil, "lease") >= before + LONG_MS, "the lease is longer");
  },

  "a claim is held after its lease expired, as long as no other node took it": async (s) => {
    const claim = await s.start({}, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    same(await s.store.runs.renew([claim], LONG_MS), [{ outcome: "held", inboxSeq: 0 }], "answer");
    const swept = await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    same(
      swept.filter(({ runId }) => runId === claim.runId),
      [],
      "swept",
    );
  },

  "a renewal returns how far the inbox has grown": async (s) => {
    const claim = await s.start();
    await s.store.inbox.send([s.message(claim.runId), s.message(claim.runId)]);
    same(await s.store.runs.renew([claim], LONG_MS), [{ outcome: "held", inboxSeq: 2 }], "answer");
  },

  "lost: other epoch, other token, unknown run, ended run": async (s) => {
    const claim = await s.start();
    const ended = await s.start();
    await s.accept(ended, [handBack]);
    const late = { ...claim, epoch: claim.epoch + 1 };
    const foreign = { ...claim, token: s.token() };
    const nowhere = { ...claim, runId: s.id() };
    const answers = await s.store.runs.renew([late, claim, foreign, nowhere, ended], LONG_MS);
    const lost = { outcome: "lost" };
    same(answers, [lost, { outcome: "held", inboxSeq: 0 }, lost, lost, lost], "answers");
  },

  "lost when another node took over, and the new lease is not changed": async (s) => {
    const old = await s.start({}, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    const next = await s.claimOne({ owner: s.token() });
    const before = await s.run(next.runId);
    same(await s.store.runs.renew([old], 9 * LONG_MS), [{ outcome: "lost" }], "the old holder");
    same(await s.run(next.runId), before, "record");
    same(await s.store.runs.renew([next], LONG_MS), [{ outcome: "held", inboxSeq: 0 }], "the new holder");
  },

  "a claim that is listed twice in a call is held twice": async (s) => {
    const [claim, other] = [await s.start(), await s.start()];
    const held = { outcome: "held", inboxSeq: 0 };
    const foreign = { ...claim, token: s.token() };
    const answers = await s.store.runs.renew([claim, foreign, claim, other, { ...claim }], 2 * LONG_MS);
    same(answers, [held, { outcome: "lost" }, held, held, held], "answers");
  },

  "an invalid claim is lost, its neighbours are held, an invalid time is rejected": async (s) => {
    const claim = await s.start();
    const odd = [{ runId: "x" }, { token: "a\0b" }, { epoch: 1.5 }, { epoch: 2 ** 70 }].map((one) => ({
      ...claim,
      ...one,
    }));
    const lost = { outcome: "lost" };
    const held = { outcome: "held", inboxSeq: 0 };
    same(await s.store.runs.renew([...odd, claim], LONG_MS), [lost, lost, lost, lost, held], "answers");
    same(await s.store.runs.renew(odd, LONG_MS), [lost, lost, lost, lost], "without a neighbour");
    for (const leaseMs of [Number.NaN, -1]) await rejects(s.store.runs.renew([claim], leaseMs), `for ${leaseMs}`);
  },

  "an empty batch is answered": async (s) => {
    same(await s.store.runs.renew([], LONG_MS), [], "answers");
  },
});
