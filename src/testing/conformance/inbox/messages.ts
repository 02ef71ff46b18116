// Messages: accepted once per key, read in order, taken into the journal once (S12).

import type { Effect } from "../../../kernel/run/effect.js";
import type { MessageKind } from "../../../store/contract/inbox/inbox.js";
import { cases } from "../case.js";
import { holds, matches, refused, same, some } from "../expect.js";
import { append, complete, LONG_MS, park, payload, retry, take } from "../scene.js";

/** A decision on a wait. */
const SHIP = { key: "wait:ship", kind: "decision" } as const;

export const messageCases = cases("messages", {
  "a message is kept until the holder asks": async (s) => {
    const { id } = await s.insert();
    const message = s.message(id);
    same(await s.store.inbox.send([message]), [{ outcome: "accepted" }], "answer");
    const [unread, ...more] = await s.store.inbox.unread(id);
    same(more, [], "other messages");
    const { at, ...rest } = some(unread, "unread message");
    same(rest, message, "message");
    holds(at >= (await s.run(id)).createdAt, "it came after the run");
    same((await s.claimOne()).inboxSeq, 1, "inboxSeq of the claim");
  },

  "a message without payload and sender": async (s) => {
    const { id } = await s.insert();
    await s.store.inbox.send([s.message(id, { payload: null, sender: null })]);
    matches((await s.store.inbox.unread(id))[0], { payload: null, sender: null }, "message");
  },

  "messages are read in the order of acceptance": async (s) => {
    const { id } = await s.insert();
    await s.store.inbox.send(["signal:c", "signal:a"].map((key) => s.message(id, { key })));
    await s.store.inbox.send(["signal:d", "signal:b"].map((key) => s.message(id, { key })));
    same(await s.unreadKeys(id), ["signal:c", "signal:a", "signal:d", "signal:b"], "order");
  },

  "the same message again is accepted again and kept once (F41)": async (s) => {
    const { id } = await s.insert();
    const message = s.message(id);
    const accepted = { outcome: "accepted" };
    same(await s.store.inbox.send([message, message]), [accepted, accepted], "twice in a batch");
    same(await s.store.inbox.send([message]), [accepted], "again");
    same(await s.unreadKeys(id), [message.key], "unread");
    matches(await s.run(id), { inboxSeq: 1 }, "record");
  },

  "of a decision and its timeout the first wins, the other learns which (S12)": async (s) => {
    const { id } = await s.insert();
    const first = s.message(id, { key: "wait:ship", kind: "decision", sender: "ann" });
    const second = s.message(id, { key: "wait:ship", kind: "timeout", sender: null });
    const by = { messageId: first.messageId, kind: "decision", sender: "ann" };
    same(await s.store.inbox.send([first, second]), [{ outcome: "accepted" }, { outcome: "already", by }], "answers");
    same(
      (await s.store.inbox.unread(id)).map(({ kind }) => kind),
      ["decision"],
      "unread",
    );
    matches(await s.run(id), { inboxSeq: 1 }, "record");
  },

  "of many decisions at once one wins (F60)": async (s) => {
    const { id } = await s.insert();
    const senders = Array.from({ length: 12 }, (_, i) => s.message(id, { ...SHIP, sender: `p${i}` }));
    const answers = (await Promise.all(senders.map((message) => s.store.inbox.send([message])))).flat();
    same(answers.filter(({ outcome }) => outcome === "accepted").length, 1, "accepted");
    same(answers.filter(({ outcome }) => outcome === "already").length, 11, "told");
    const winner = senders[answers.findIndex(({ outcome }) => outcome === "accepted")];
    same((await s.store.inbox.unread(id))[0]?.messageId, winner?.messageId, "the message that is there");
  },

  "keys of different runs do not meet": async (s) => {
    const [a, b] = [await s.insert(), await s.insert()];
    const accepted = { outcome: "accepted" };
    const both = [a, b].map(({ id }) => s.message(id, SHIP));
    same(await s.store.inbox.send(both), [accepted, accepted], "answers");
  },

  "an unknown run, an ended run": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [complete]);
    const answers = await s.store.inbox.send([s.message(s.id()), s.message(claim.runId)]);
    same(answers, [{ outcome: "unknown" }, { outcome: "ended", state: "completed" }], "answers");
    same(await s.store.inbox.unread(claim.runId), [], "the ended run's inbox");
    same(await s.store.inbox.unread(s.id()), [], "the unknown run's inbox");
  },

  "a repeat is accepted also after the run has ended": async (s) => {
    const claim = await s.start();
    const message = s.message(claim.runId, SHIP);
    await s.store.inbox.send([message]);
    await s.accept(claim, [complete]);
    const rival = s.message(claim.runId, SHIP);
    const expected = [{ outcome: "accepted" }, { outcome: "ended", state: "completed" }];
    same(await s.store.inbox.send([message, rival]), expected, "answers");
  },

  "what a run did not read is closed when it ends": async (s) => {
    const claim = await s.start();
    await s.store.inbox.send([s.message(claim.runId)]);
    await s.accept(claim, [complete]);
    same(await s.unreadKeys(claim.runId), [], "unread");
  },

  "a message wakes a parked run at once": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [park({ wakeInMs: LONG_MS, wakeAfter: 9 })]);
    await s.store.inbox.send([s.message(claim.runId)]);
    matches(await s.run(claim.runId), { state: "waiting", wakeAt: null, inboxSeq: 1 }, "record");
    matches(await s.claimOne(), { runId: claim.runId, inboxSeq: 1 }, "claim");
  },

  "a message cuts no back-off and no delayed start": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [retry(LONG_MS)]);
    const delayed = await s.insert({ delayMs: LONG_MS });
    await s.store.inbox.send([s.message(claim.runId), s.message(delayed.id)]);
    await s.store.runs.wakeParked({ limit: 1000 });
    same(await s.claim(), [], "claims");
  },

  "a batch is answered message by message": async (s) => {
    const { id } = await s.insert();
    const message = s.message(id, SHIP);
    const rival = { ...message, messageId: s.token(), kind: "cancel" as const };
    const answers = await s.store.inbox.send([s.message(s.id()), message, rival, s.message(id)]);
    same(
      answers.map(({ outcome }) => outcome),
      ["unknown", "accepted", "already", "accepted"],
      "answers",
    );
    same(await s.store.inbox.send([]), [], "an empty batch");
  },

  "a message that cannot be stored is refused alone (F64)": async (s) => {
    const { id } = await s.insert();
    const bad = s.message(id, { key: "signal:bad", payload: { codec: "json", data: "\0" } });
    const answers = await s.store.inbox.send([
      s.message(id, { key: "signal:1" }),
      bad,
      s.message(id, { key: "signal:2" }),
    ]);
    refused(answers[1]!, "NUL in a payload");
    same([answers[0], answers[2]], [{ outcome: "accepted" }, { outcome: "accepted" }], "its neighbours");
    same(await s.unreadKeys(id), ["signal:1", "signal:2"], "unread");
    matches(await s.run(id), { inboxSeq: 2 }, "record");
  },

  "a key that means something takes its own kinds only": async (s) => {
    const claim = await s.start();
    const fitting: Readonly<Record<string, readonly MessageKind[]>> = {
      cancel: ["cancel"],
      "child:x": ["child"],
      "signal:x": ["signal"],
      "wait:x": ["decision", "timeout", "cancel"],
    };
    for (const [key, kinds] of Object.entries(fitting)) {
      for (const kind of ["signal", "decision", "timeout", "cancel", "child"] as const) {
        if (kinds.includes(kind)) continue;
        const [answer] = await s.store.inbox.send([s.message(claim.runId, { key, kind })]);
        same(
          (refused(some(answer, "answer"), `${key} as ${kind}`) as { path?: unknown }).path,
          "key",
          "the error's path",
        );
      }
    }
    same(await s.unreadKeys(claim.runId), [], "unread");
    // A signal that had stood under the key would have swallowed this.
    same(await s.store.runs.cancel(claim.runId, { by: "me" }), { outcome: "requested" }, "cancel");
    same(
      (await s.store.inbox.unread(claim.runId)).map(({ kind }) => kind),
      ["cancel"],
      "the request",
    );
    for (const [key, [kind]] of Object.entries(fitting).slice(1)) {
      same(await s.store.inbox.send([s.message(claim.runId, { key, kind: kind! })]), [{ outcome: "accepted" }], key);
    }
  },

  "a kind that is none is refused": async (s) => {
    const { id } = await s.insert();
    const [answer] = await s.store.inbox.send([s.message(id, { kind: "shout" as MessageKind })]);
    refused(some(answer, "answer"), "kind");
  },

  "taking a message moves it into the journal": async (s) => {
    const claim = await s.start();
    const message = s.message(claim.runId, { key: "signal:1", payload: payload({ cents: 3 }) });
    await s.store.inbox.send([message, s.message(claim.runId, { key: "signal:2" })]);
    await s.accept(claim, [append("a"), take("signal:1")]);
    const { entries } = some(await s.store.journal.read(claim.runId, { after: 2 }), "journal");
    const entry = { kind: "take", name: "paid", key: "signal:1", payload: payload({ cents: 3 }), epoch: 1, seq: 3 };
    matches(entries[0], entry, "entry");
    same(await s.unreadKeys(claim.runId), ["signal:2"], "unread");
  },

  "a message is taken once": async (s) => {
    const claim = await s.start();
    await s.store.inbox.send([s.message(claim.runId, { key: "signal:1" })]);
    refused(await s.commit(claim, [take("signal:1"), take("signal:1")]), "twice in a commit");
    const seq = await s.accept(claim, [take("signal:1")]);
    const error = refused(await s.commit(claim, [append("a"), take("signal:1")], seq), "again");
    same((error as { path?: unknown }).path, "effects[1].messageKey", "the error's path");
    same(await s.log(claim.runId), ["start", "take"], "log");
  },

  "a message that is not there cannot be taken": async (s) => {
    const [claim, other] = [await s.start(), await s.start()];
    await s.store.inbox.send([s.message(other.runId, { key: "signal:1" })]);
    const commits = [claim, other].map((one) => ({ claim: one, expectedSeq: 1, effects: [take("signal:1")] }));
    const answers = await s.store.runs.commit(commits);
    same(
      answers.map(({ outcome }) => outcome),
      ["refused", "accepted"],
      "answers",
    );
    same(await s.log(claim.runId), ["start"], "log");
  },

  "a repeated take is recorded": async (s) => {
    const claim = await s.start();
    await s.store.inbox.send([s.message(claim.runId, { key: "signal:1" })]);
    const effects = [take("signal:1"), park({ seenInboxSeq: 1 })];
    await s.accept(claim, effects);
    same(await s.commit(claim, effects), { outcome: "recorded", seq: 3 }, "answer");
  },

  "a taken message sent again is accepted, and not read twice": async (s) => {
    const claim = await s.start();
    const message = s.message(claim.runId, { key: "signal:1" });
    await s.store.inbox.send([message]);
    await s.accept(claim, [take("signal:1")]);
    same(await s.store.inbox.send([message]), [{ outcome: "accepted" }], "answer");
    same(await s.unreadKeys(claim.runId), [], "unread");
    matches(await s.run(claim.runId), { inboxSeq: 1 }, "record");
  },

  "a lost holder takes nothing": async (s) => {
    const claim = await s.start();
    await s.store.inbox.send([s.message(claim.runId, { key: "signal:1" })]);
    same(await s.commit({ ...claim, token: s.token() }, [take("signal:1")]), { outcome: "lost" }, "answer");
    same(await s.unreadKeys(claim.runId), ["signal:1"], "unread");
  },

  "a take that names another message than the one under its key is refused": async (s) => {
    const claim = await s.start();
    const message = s.message(claim.runId, { key: "signal:1" });
    await s.store.inbox.send([message]);
    const take = (messageId: string): Effect => ({ kind: "take", messageKey: "signal:1", messageId });
    same((await s.commit(claim, [take(s.token())])).outcome, "refused", "another message");
    await s.accept(claim, [take(message.messageId)]);
    same(await s.unreadKeys(claim.runId), [], "unread");
  },
});
