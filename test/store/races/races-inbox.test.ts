// Messages that meet a run that parks: none is missed. Nothing here is repaired by wakeParked.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Effect } from "../../../src/kernel/run/effect.js";
import type { MessageKind } from "../../../src/store/contract/inbox/inbox.js";
import { sendMessages } from "../../../src/store/postgres/inbox/send-messages.js";
import { wakeRunsStatement } from "../../../src/store/postgres/inbox/wake-runs.js";
import {
  accept,
  claimNew,
  commitOf,
  commitOne,
  complete,
  newRun,
  park,
  scene,
  signal,
  stateOf,
  together,
} from "../scene.js";

const s = scene();
const [holder, sender] = [s.open({ connections: 4 }), s.open({ connections: 4 })];

async function parkedWithMail(): Promise<unknown[]> {
  return s.rows(
    "select r.id from {s}.runs r where r.state = 'parked' and exists (select from {s}.inbox i where i.run_id = r.id and taken_seq is null)",
  );
}

test("a signal that meets the parking commit wakes the run, in 600 races", async () => {
  let parkedFirst = 0;
  for (let round = 0; round < 12; round++) {
    const claimed = await claimNew(s.store, 50);
    await Promise.all(
      claimed.map(async (claim, i) => {
        const [answer, [sent]] = await together(
          (i + round) % 2 === 0,
          () => commitOne(holder, commitOf(claim, park())),
          () => sender.inbox.send([signal(claim.runId)]),
        );
        expect(answer.outcome).toBe("accepted");
        expect(sent!.outcome).toBe("accepted");
        parkedFirst += answer.outcome === "accepted" && answer.inboxSeq === 0 ? 1 : 0;
      }),
    );
    const ids = claimed.map((claim) => claim.runId);
    const states = await s.rows("select distinct state, inbox_seq::int, wake_at from {s}.runs where id = any($1)", [
      ids,
    ]);
    expect(states).toEqual([{ state: "waiting", inbox_seq: 1, wake_at: null }]);
  }
  expect(parkedFirst).toBeGreaterThan(0);
  expect(await parkedWithMail()).toEqual([]);
});

/** What `send` does, taken apart: the message is committed, and the wake is sent when the test does it. */
const insertOnly = (runId: string) =>
  s.pool.query(s.text(sendMessages), [[runId], ["k"], [randomUUID()], ["signal"], ["go"], [null], [null], [null]]);
const ringOnly = (runId: string) => s.pool.query(s.text(wakeRunsStatement), [[runId], [1]]);

test("with the message before the park and the wake after it, the wake resumes the run", async () => {
  const claimed = await claimNew(s.store, 250);
  for (const claim of claimed) {
    await insertOnly(claim.runId);
    await accept(s.store, commitOf(claim, park({ wakeInMs: 60_000 })));
    await ringOnly(claim.runId);
  }
  expect(await parkedWithMail()).toEqual([]);
  expect(await stateOf(s.store, claimed[0]!.runId)).toBe("waiting");
});

test("with message and wake before the park, the park detects that the inbox has grown", async () => {
  const claimed = await claimNew(s.store, 250);
  for (const claim of claimed) {
    await insertOnly(claim.runId);
    await ringOnly(claim.runId);
    await accept(s.store, commitOf(claim, park({ wakeInMs: 60_000 })));
  }
  expect(await parkedWithMail()).toEqual([]);
  expect(await stateOf(s.store, claimed[0]!.runId)).toBe("waiting");
});

test("of a decision, its timeout and a cancel of one wait the first wins, the others learn which", async () => {
  for (let round = 0; round < 30; round++) {
    const [claim] = await claimNew(s.store, 1);
    const kinds: MessageKind[] = ["decision", "timeout", "cancel", "decision"];
    const messages = kinds.map((kind, i) => signal(claim!.runId, "wait:approval", { kind, sender: `s${i}` }));
    const answers = (await Promise.all(messages.map((m, i) => (i % 2 ? holder : sender).inbox.send([m])))).flat();
    const winners = messages.filter((_, i) => answers[i]!.outcome === "accepted");
    expect(winners).toHaveLength(1);
    const [{ messageId, kind, sender: by }] = winners as [(typeof messages)[number]];
    for (const answer of answers.filter((one) => one.outcome !== "accepted")) {
      expect(answer).toEqual({ outcome: "already", by: { messageId, kind, sender: by } });
    }
    expect((await s.store.inbox.unread(claim!.runId)).map((m) => m.messageId)).toEqual([messageId]);
  }
});

test("children that end on many connections at once wake their parent once, when all have", async () => {
  for (let round = 0; round < 10; round++) {
    const [parent] = await claimNew(s.store, 1);
    const children = await claimNew(s.store, 20, { parentId: parent!.runId });
    await accept(s.store, commitOf(parent!, park({ wakeAfter: 20 })));
    const last = children.pop()!;
    await Promise.all(children.map((c, i) => accept(i % 2 ? holder : sender, commitOf(c, complete))));
    expect(await stateOf(s.store, parent!.runId)).toBe("parked");
    await accept(holder, commitOf(last, complete));
    // A parent whose row was locked is woken after the commit: soon, and without housekeeping.
    await expect.poll(() => stateOf(s.store, parent!.runId), { interval: 5, timeout: 1_000 }).toBe("waiting");
    expect(await s.store.inbox.unread(parent!.runId)).toHaveLength(20);
  }
});

test("a child that ends while its parent parks is not missed", async () => {
  for (let round = 0; round < 60; round++) {
    const [parent] = await claimNew(s.store, 1);
    const [child] = await claimNew(s.store, 1, { parentId: parent!.runId });
    await together(
      round % 2 === 0,
      () => accept(holder, commitOf(parent!, park())),
      () => accept(sender, commitOf(child!, complete)),
    );
    // A parent whose row was locked is woken after the commit: soon, and without housekeeping.
    await expect.poll(() => stateOf(s.store, parent!.runId), { interval: 5, timeout: 1_000 }).toBe("waiting");
  }
  expect(await parkedWithMail()).toEqual([]);
});

test("a message is recorded in one journal once, however many race for it", async () => {
  for (let round = 0; round < 30; round++) {
    const [claim] = await claimNew(s.store, 1);
    await s.store.inbox.send([signal(claim!.runId, "k")]);
    const take: Effect = { kind: "take", messageKey: "k" };
    const answers = await together(
      round % 2 === 0,
      () => commitOne(holder, commitOf(claim!, take)),
      () => commitOne(sender, commitOf(claim!, take)),
    );
    expect(answers.map((answer) => answer.outcome).sort()).toEqual(["accepted", "recorded"]);
    const rows = await s.rows("select kind, key, seq::int from {s}.journal where run_id = $1 and seq > 1", [
      claim!.runId,
    ]);
    expect(rows).toEqual([{ kind: "take", key: "k", seq: 2 }]);
  }
});

test("one commit that takes the same message twice is refused, and the journal has no gap", async () => {
  const [claim] = await claimNew(s.store, 1);
  await s.store.inbox.send([signal(claim!.runId, "k")]);
  const take: Effect = { kind: "take", messageKey: "k" };
  const answer = await commitOne(s.store, commitOf(claim!, take, take));
  expect(answer.outcome).toBe("refused");
  expect((await s.store.journal.read(claim!.runId))!.entries).toHaveLength(1);
});

test("messages of one call are read in the order of the call", async () => {
  const run = newRun({ delayMs: 60_000 });
  await s.store.runs.insert([run]);
  const keys = ["m", "z", "a", "q", "b"];
  await s.store.inbox.send(keys.map((key) => signal(run.id, key)));
  expect((await s.store.inbox.unread(run.id)).map((message) => message.key)).toEqual(keys);
});

test("pruning and two wakes that close the same messages never deadlock", async () => {
  // Where the planner reads by an index, closing goes by the messages' place in the table and pruning by their keys.
  const url = new URL(s.url);
  url.searchParams.set("options", "-c enable_bitmapscan=off -c enable_seqscan=off");
  // A deadlock is transient, so it would be repeated silently: these stores do not repeat.
  const stores = [1, 2, 3].map(() => s.open({ retryFor: 1, url: url.href }));
  await s.store.runs.insert([newRun({ delayMs: 60_000 })]);
  for (let round = 0; round < 8; round++) {
    await s.rows(`with ended as (
        insert into {s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at, ended_at)
        select gen_random_uuid(), (select min(id) from {s}.claim_groups), 0, 'completed', now(), 5, now(), now()
        from generate_series(1, 5) returning id
      )
      insert into {s}.inbox (run_id, key, message_id, kind, name, at)
      select id, 'signal:' || 10000 - n, id, 'signal', 'go', now() from ended, generate_series(1, 2000) n order by id desc, n`);
    const outcomes = await Promise.allSettled([
      stores[0]!.runs.wakeParked({ limit: 10 }),
      stores[1]!.runs.prune({ env: "test", endedBeforeMs: 0, limit: 1000 }),
      stores[2]!.runs.wakeParked({ limit: 10 }),
    ]);
    const failed = outcomes.flatMap((one) => (one.status === "rejected" ? String(one.reason) : []));
    expect(failed).toEqual([]);
  }
}, 60_000);
