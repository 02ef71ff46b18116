// Cancel: at once when no node holds the run, otherwise a request its holder finds (S12, S16).

import type { Effect } from "../../../kernel/run/effect.js";
import { cases } from "../case.js";
import { holds, matches, same, some } from "../expect.js";
import { complete, fail, LONG_MS, park, pause, retry, type Scene } from "../scene.js";

/** Forgets what it finds. It may take a moment: it comes from another connection. */
async function heard(s: Scene, calls: string[], runId: string): Promise<void> {
  for (let tries = 0; tries < 500 && !calls.includes(runId); tries++) await s.advance(10);
  holds(calls.splice(0).includes(runId), "its holder was called");
}

export const cancelCases = cases("cancel", {
  "a waiting run is cancelled at once": async (s) => {
    const { id } = await s.insert();
    same(await s.store.runs.cancel(id, { by: "ann", reason: "not needed" }), { outcome: "cancelled" }, "answer");
    const run = await s.run(id);
    matches(run, { state: "cancelled", seq: 2 }, "record");
    const { entries } = some(await s.store.journal.read(id, { after: 1 }), "journal");
    const reason = { codec: "json", data: '{"by":"ann","reason":"not needed"}' };
    const entry = { seq: 2, epoch: 0, kind: "cancelled", name: "", key: null, payload: reason, at: run.endedAt };
    same(entries, [entry], "entries");
    same(await s.claim(), [], "claims");
  },

  "a parked, paused or delayed run is cancelled at once": async (s) => {
    const settles: Effect[] = [park({ wakeInMs: LONG_MS }), pause, retry(LONG_MS)];
    for (const effect of settles) {
      const claim = await s.start();
      await s.accept(claim, [effect]);
      same(await s.store.runs.cancel(claim.runId, { by: "ann" }), { outcome: "cancelled" }, effect.kind);
      const run = await s.run(claim.runId);
      matches(run, { state: "cancelled", wakeAt: null, seq: 3 }, effect.kind);
      holds(run.endedAt !== null, "endedAt is set");
    }
  },

  "a run that has begun, and whose code cleans up, is only asked; a paused one is resumed for it": async (s) => {
    const node = await s.node([s.group()]);
    await s.store.runs.declare(node, [{ group: s.group(), limits: [], cleansUp: true }]);
    const { id } = await s.insert({ delayMs: LONG_MS });
    same(await s.store.runs.cancel(id, { by: "ann" }), { outcome: "cancelled" }, "not begun");
    for (const effect of [park({ wakeInMs: LONG_MS }), pause]) {
      const claim = await s.start();
      await s.accept(claim, [effect]);
      for (const nth of ["first", "second"])
        same(await s.store.runs.cancel(claim.runId, { by: "ann" }), { outcome: "requested" }, `${nth} ${effect.kind}`);
      matches(await s.run(claim.runId), { state: "waiting" }, effect.kind);
      const [again] = await s.claim();
      matches(again, { runId: claim.runId, hasMessages: true }, "its next holder");
      await s.accept(again!, [{ kind: "take", messageKey: "cancel" }, fail("cancelled")]);
      same(await s.store.runs.cancel(claim.runId, { by: "ann" }), { outcome: "cancelled" }, "ended");
    }
  },

  "no reason is null": async (s) => {
    const { id } = await s.insert();
    await s.store.runs.cancel(id, { by: "ann" });
    const page = some(await s.store.journal.read(id, { after: 1 }), "journal");
    same(page.entries[0]?.payload?.data, '{"by":"ann","reason":null}', "payload");
  },

  "the holder of a running run finds the request": async (s) => {
    const claim = await s.start();
    same(await s.store.runs.cancel(claim.runId, { by: "ann", reason: "r" }), { outcome: "requested" }, "answer");
    matches(await s.run(claim.runId), { state: "running", inboxSeq: 1, seq: 1 }, "record");
    const [request] = await s.store.inbox.unread(claim.runId);
    const body = { codec: "json", data: '{"by":"ann","reason":"r"}' };
    matches(request, { key: "cancel", kind: "cancel", name: "cancel", sender: "ann", payload: body }, "message");
    same(await s.store.runs.renew([claim], LONG_MS), [{ outcome: "held", inboxSeq: 1 }], "the next renewal");
    const last = [{ kind: "take", messageKey: "cancel" } as const, fail("cancelled")];
    await s.accept(claim, last);
    matches(await s.run(claim.runId), { state: "cancelled" }, "after the holder complied");
  },

  "a request is unanswered until the holder has taken it in": async (s) => {
    const { store } = s;
    const claim = await s.start();
    same(await store.runs.stopping(claim.runId), { state: "running", running: 1, unanswered: 0 }, "before");
    await store.runs.cancel(claim.runId, { by: "ann" });
    same(await store.runs.stopping(claim.runId), { state: "running", running: 1, unanswered: 1 }, "asked");
    await s.accept(claim, [{ kind: "take", messageKey: "cancel" }]);
    same(await store.runs.stopping(claim.runId), { state: "running", running: 1, unanswered: 0 }, "taken in");
    await s.accept(claim, [fail("cancelled")], 2);
    same(await store.runs.stopping(claim.runId), { state: "cancelled", running: 0, unanswered: 0 }, "ended");
    same(await store.runs.stopping(s.id()), null, "unknown");
  },

  "a holder is notified by name when its run is asked to stop, and again by a caller that checks the progress": async (
    s,
  ) => {
    const { store } = s;
    const calls: string[] = [];
    const incarnation = s.id();
    const attendance = await store.attend({
      incarnation,
      onWake: () => {},
      onCalled: (runIds) => calls.push(...runIds),
    });
    const claim = await s.start();
    await store.runs.cancel(claim.runId, { by: "ann" });
    await heard(s, calls, claim.runId);
    await store.runs.stopping(claim.runId);
    await heard(s, calls, claim.runId);
    const other = await s.start();
    await store.runs.pause(other.runId, { by: "ann" });
    await heard(s, calls, other.runId);
    await attendance.leave();
  },

  "asking twice is one request": async (s) => {
    const claim = await s.start();
    await s.store.runs.cancel(claim.runId, { by: "ann" });
    same(await s.store.runs.cancel(claim.runId, { by: "bob" }), { outcome: "requested" }, "answer");
    same(
      (await s.store.inbox.unread(claim.runId)).map(({ sender }) => sender),
      ["ann"],
      "requests",
    );
    matches(await s.run(claim.runId), { inboxSeq: 1 }, "record");
  },

  "a holder that did not see the request does not park over it": async (s) => {
    const claim = await s.start();
    await s.store.runs.cancel(claim.runId, { by: "ann" });
    await s.accept(claim, [park({ seenInboxSeq: 0 })]);
    matches(await s.run(claim.runId), { state: "waiting" }, "record");
  },

  "an ended run stays as it ended (S16)": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [complete]);
    same(await s.store.runs.cancel(claim.runId, { by: "ann" }), { outcome: "ended", state: "completed" }, "completed");
    const waiting = await s.insert();
    await s.store.runs.cancel(waiting.id, { by: "ann" });
    same(await s.store.runs.cancel(waiting.id, { by: "bob" }), { outcome: "cancelled" }, "cancelled again");
    same(await s.log(waiting.id), ["start", "cancelled"], "log");
  },

  "an unknown run": async (s) => {
    same(await s.store.runs.cancel(s.id(), { by: "ann" }), { outcome: "unknown" }, "answer");
  },

  "cancel and complete at once: one end (F59)": async (s) => {
    for (let round = 0; round < 10; round++) {
      const claim = await s.start();
      const [cancelled] = await Promise.all([
        s.store.runs.cancel(claim.runId, { by: "ann" }),
        s.commit(claim, [complete]),
      ]);
      // Answered `requested` or `ended`, never `cancelled`: the holder was there. A locked row may have to be asked again.
      holds(cancelled.outcome !== "cancelled", "the holder's run is not cancelled behind its back");
      const { state } = await s.run(claim.runId);
      if (state === "running") await s.accept(claim, [complete]);
      same(await s.log(claim.runId), ["start", "completed"], "log");
    }
  },
});
