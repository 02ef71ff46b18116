// The caller's own transaction: inserts and messages commit and roll back with it.

import { cases } from "../case.js";
import { matches, same } from "../expect.js";
import { park } from "../scene.js";

export const transactionCases = cases("transactions", {
  "an insert is seen by others after the commit, not before": async (s) => {
    const run = s.newRun();
    await s.transaction("commit", async (tx) => {
      same(await s.store.runs.insert([run], { tx }), [{ outcome: "inserted", runId: run.id }], "answer");
      same(await s.store.runs.get(run.id), null, "for others");
      same(await s.claim(), [], "claims");
    });
    same((await s.claimOne()).input, run.input, "after the commit");
  },

  "a rolled back insert never was": async (s) => {
    const run = s.newRun({ key: s.newKey() });
    await s.transaction("rollback", (tx) => s.store.runs.insert([run], { tx }));
    same(await s.store.runs.get(run.id), null, "the run");
    same(await s.store.journal.read(run.id), null, "its journal");
    const next = await s.insert({ key: s.newKey({ payloadHash: "h2" }) });
    matches(await s.run(next.id), { state: "waiting" }, "the next one with the same key");
  },

  "a key taken in the transaction is taken within it": async (s) => {
    const [a, b] = [s.newRun({ key: s.newKey() }), s.newRun({ key: s.newKey() })];
    await s.transaction("commit", async (tx) => {
      await s.store.runs.insert([a], { tx });
      same(await s.store.runs.insert([b], { tx }), [{ outcome: "existing", runId: a.id }], "answer");
      same(await s.store.runs.insert([a], { tx }), [{ outcome: "inserted", runId: a.id }], "the same run again");
    });
    same(await s.store.runs.count({ env: s.env }), { waiting: 1 }, "count");
  },

  "a conflict is an answer, and the transaction continues": async (s) => {
    const first = await s.insert({ key: s.newKey() });
    const other = s.newRun();
    await s.transaction("commit", async (tx) => {
      const loser = s.newRun({ key: s.newKey({ payloadHash: "h2" }) });
      same(await s.store.runs.insert([loser], { tx }), [{ outcome: "conflict", runId: first.id }], "answer");
      await s.store.runs.insert([other], { tx });
    });
    matches(await s.run(other.id), { state: "waiting" }, "what came after the conflict");
  },

  "a message is unread after the commit, not before": async (s) => {
    const run = await s.insert();
    const message = s.message(run.id);
    await s.transaction("commit", async (tx) => {
      same(await s.store.inbox.send([message], { tx }), [{ outcome: "accepted" }], "answer");
      same(await s.unreadKeys(run.id), [], "for others");
    });
    same(await s.unreadKeys(run.id), [message.key], "after the commit");
    same(await s.store.inbox.send([message]), [{ outcome: "accepted" }], "sent again");
    same(await s.unreadKeys(run.id), [message.key], "still once");
  },

  "a message sent in a transaction wakes a parked run": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [park()]);
    await s.transaction("commit", (tx) => s.store.inbox.send([s.message(claim.runId)], { tx }));
    await s.store.runs.wakeParked({ limit: 1000 });
    same((await s.claimOne()).runId, claim.runId, "claimed");
  },

  "a rolled back message never was": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [park()]);
    const message = s.message(claim.runId);
    await s.transaction("rollback", (tx) => s.store.inbox.send([message], { tx }));
    await s.store.runs.wakeParked({ limit: 1000 });
    matches(await s.run(claim.runId), { state: "parked", inboxSeq: 0 }, "the run");
    const [answer] = await s.store.inbox.send([{ ...message, messageId: s.token() }]);
    same(answer, { outcome: "accepted" }, "another message with its key");
  },

  "a run and a message to it fit in one transaction": async (s) => {
    const run = s.newRun();
    await s.transaction("commit", async (tx) => {
      await s.store.runs.insert([run], { tx });
      same(
        await s.store.inbox.send([s.message(run.id, { key: "signal:1" })], { tx }),
        [{ outcome: "accepted" }],
        "send",
      );
    });
    same(await s.unreadKeys(run.id), ["signal:1"], "unread");
  },
});
