// Histories that break one invariant each: its checker must object under its name.

import { expect } from "vitest";
import { checkAttempt, checkFinished, checkResults } from "../../src/simulator/check/effects.js";
import { checkMarks } from "../../src/simulator/check/marks.js";
import { checkReplay } from "../../src/simulator/check/replay.js";
import { EffectLog } from "../../src/simulator/effect-log.js";
import type { ClaimedRun } from "../../src/store/contract/run/runs.js";
import { done, entry, LEASE_MS, park, type Scene } from "./checkers-scene.js";
import { restartedThrice } from "./true-histories.js";

const noWatcher = { started: () => {}, finished: () => {} };

/** The second run of two under a limit of one is admitted although the store did not. */
async function admittedByHand(s: Scene, kind: "serial" | "slots", first: (claim: ClaimedRun) => Promise<unknown>) {
  const limits = [{ kind, key: `${kind} a`, max: 1 }];
  await first(await s.inserted({ limits }));
  const { id } = await s.insert({ limits });
  s.tables.runs.get(id)!.state = "waiting";
  await s.wake();
}

export const LIES: readonly (readonly [invariant: string, lie: string, story: (s: Scene) => unknown])[] = [
  [
    "S1",
    "a run that is gone",
    async (s) => {
      const { id } = await s.insert();
      s.tables.runs.delete(id);
    },
  ],
  [
    "S1",
    "a step of a run that was never inserted",
    (s) => checkAttempt(s.history, s.attempt({ runId: "r", epoch: 1, token: "t" })),
  ],
  [
    "S2",
    "an epoch that was granted before",
    async (s) => {
      await s.insert();
      const request = await s.request();
      const granted = await s.store.runs.claim(request);
      s.tell({ op: "runs.claim", args: [request], answer: granted.map((run) => ({ ...run, epoch: 0 })) });
    },
  ],
  [
    "S2",
    "a token for two claims",
    async (s) => {
      const request = await s.request();
      s.tell({ op: "runs.claim", args: [request], answer: [] });
      s.tell({ op: "runs.claim", args: [{ ...request }], answer: [] });
    },
  ],
  [
    "S8",
    "an operation without a check of its own that writes to a run",
    async (s) => {
      const { id } = await s.insert();
      const row = s.tables.runs.get(id)!;
      row.seq++;
      s.tell({ op: "runs.declare", args: [s.world.token(), []], answer: [] });
      // Only that operation can be blamed for it.
      row.seq--;
    },
  ],
  [
    "S3",
    "a waiting run with a token",
    async (s) => {
      const { id } = await s.insert();
      s.tables.runs.get(id)!.token = s.world.token();
      await s.send(id, "signal:1");
    },
  ],
  [
    "S4",
    "a commit of a claim that is lost",
    async (s) => {
      const claim = await s.inserted();
      const commits = [s.commitOf({ ...claim, token: s.world.token() }, [entry("step")])];
      s.tell({ op: "runs.commit", args: [commits], answer: [{ outcome: "accepted", seq: 2, inboxSeq: 0 }] });
    },
  ],
  [
    "S4",
    "a renewal of a claim that is lost",
    async (s) => {
      const claim = { ...(await s.inserted()), token: s.world.token() };
      s.tell({ op: "runs.renew", args: [[claim], 1], answer: [{ outcome: "held", inboxSeq: 0 }] });
    },
  ],
  [
    "S4",
    "a step that continues after its holder learned that the claim is lost",
    async (s) => {
      const claim = await s.inserted();
      for (const what of ["granted", "lost"] as const)
        s.history.told(`n0.1 ${claim.runId} ${claim.epoch}`, what, claim.token);
      checkFinished(s.history, s.attempt(claim), false);
    },
  ],
  [
    "S5",
    "a grant while another holds it",
    async (s) => {
      const held = await s.inserted();
      s.tell({ op: "runs.claim", args: [await s.request()], answer: [{ ...held, epoch: 2 }] });
    },
  ],
  [
    "S5",
    "a reclaim before the lease has expired",
    async (s) => {
      const { runId, epoch } = await s.inserted();
      const swept = {
        runId,
        epoch,
        outcome: "waiting",
        previousOwner: "x",
        crashes: 1,
        expiredForMs: 0,
        renewedAgoMs: 0,
        previousIdentity: null,
        previousName: null,
      } as const;
      s.tell({ op: "runs.reclaimExpired", args: [{ env: "default", limit: 10 }], answer: [swept] });
    },
  ],
  ["S6", "a second result of a step", async (s) => s.commit(await s.inserted(), entry("step"), entry("step"))],
  [
    "S6",
    "a step that is started after its result was recorded",
    async (s) => {
      const claim = await s.inserted();
      await s.commit(claim, entry("step"));
      checkAttempt(s.history, s.attempt(claim));
    },
  ],
  [
    "S6",
    "a result that no attempt returned",
    async (s) => {
      await s.commit(await s.inserted(), entry("step", "a", "1", '"made up"'));
      checkResults(s.history, new EffectLog(() => 0, noWatcher));
    },
  ],
  [
    "S23",
    "a step that begins after a cancel has returned",
    async (s) => {
      const claim = await s.inserted();
      const { runId } = claim;
      s.tell({
        op: "runs.cancel",
        args: [runId, { by: "ann" }],
        answer: await s.store.runs.cancel(runId, { by: "ann" }),
      });
      s.history.promises.answered(runId, { askedAt: 0, now: 1, disturbedAt: -1 });
      checkAttempt(s.history, s.attempt(claim));
    },
  ],
  [
    "S24",
    "a result of a step that was aborted",
    async (s) => {
      const effects = new EffectLog(() => 0, noWatcher);
      const claim = await s.inserted();
      const info = { idempotencyKey: `${claim.runId}:0:step:a:1`, fence: 1n, attempt: 1, signal: AbortSignal.abort() };
      const record = effects.start({ by: "n0.1", runId: claim.runId, info, after: [] }, { do: "step", attempts: 3 });
      effects.finish(record, true);
      await s.commit(claim, entry("step", "a", "1", JSON.stringify(effects.answer(record))));
      checkResults(s.history, effects);
    },
  ],
  [
    "S6",
    "a recorded transaction whose insert is missing",
    async (s) => {
      const claim = await s.inserted();
      await s.commit(claim, entry("transaction", "a", "1", '"x"'));
      checkMarks(s.history, new EffectLog(() => 0, noWatcher));
    },
  ],
  [
    "S7",
    "a step that is started before its predecessor is recorded",
    async (s) => {
      const claim = await s.inserted();
      checkAttempt(s.history, s.attempt(claim, { after: [`${claim.runId}:0:step:b:1`] }));
    },
  ],
  [
    "S7",
    "a hand-back while a step runs",
    async (s) => {
      const claim = await s.inserted();
      checkAttempt(s.history, s.attempt(claim));
      await s.commit(claim, { kind: "handBack" });
    },
  ],
  [
    "S8",
    "a clean-up that removes an entry of the current generation",
    async (s) => {
      const first = await s.inserted();
      await s.commit(first, entry("step"));
      s.tables.journal.get(first.runId)!.delete(2);
      const round = { part: "generations", env: "default", everyMs: 0, keepMs: 0, limit: 10 } as const;
      s.tell({ op: "cleanUp", args: [round], answer: { removed: 1, more: false } });
    },
  ],
  [
    "S12",
    "a clean-up that removes an unread message",
    async (s) => {
      const { id } = await s.insert();
      await s.send(id, "signal:1");
      s.tables.inbox.delete(id);
      const round = { part: "generations", env: "default", everyMs: 0, keepMs: 0, limit: 10 } as const;
      s.tell({ op: "cleanUp", args: [round], answer: { removed: 1, more: false } });
    },
  ],
  [
    "S8",
    "a gap in the log",
    async (s) => {
      const claim = await s.inserted();
      await s.commit(claim, entry("step"), done("null"));
      s.tables.journal.get(claim.runId)!.delete(2);
    },
  ],
  [
    "S8",
    "an entry that is not at the end of the log",
    async (s) => {
      const claim = await s.inserted();
      const commits = [{ ...s.commitOf(claim, [entry("step")]), expectedSeq: 5 }];
      s.tell({ op: "runs.commit", args: [commits], answer: [{ outcome: "accepted", seq: 6, inboxSeq: 0 }] });
    },
  ],
  [
    "S9",
    "a quarantine",
    async (s) => {
      const reason = { codec: "json", data: "{}" };
      await s.commit(await s.inserted(), { kind: "fail", as: "quarantined", reason });
    },
  ],
  [
    "S9",
    "a result that does not follow from the log",
    async (s) => {
      await s.commit(await s.inserted(), done('["made up"]'));
      await checkReplay(s.history, () => true);
    },
  ],
  [
    "S9",
    "an entry that the script does not produce",
    async (s) => {
      await s.commit(await s.inserted(), entry("step"), done("[]"));
      await checkReplay(s.history, () => true);
    },
  ],
  [
    "S10",
    "two runs of one key",
    async (s) => {
      const key = { scope: "s", key: "k", payloadHash: "h", lifetime: "live", onMismatch: "conflict" } as const;
      const run = await s.insert({ key });
      const other = s.newRun({ key });
      s.tell({ op: "runs.insert", args: [[other]], answer: [{ outcome: "inserted", runId: other.id }] });
      expect(run.id).not.toBe(other.id);
    },
  ],
  [
    "S11",
    "a sleep that ends early",
    async (s) => s.commit(await s.inserted(), entry("sleep.begun", "a", "1", '{"ms":5000}'), entry("sleep")),
  ],
  [
    "S11",
    "a grant before the run is due",
    async (s) => {
      const { id } = await s.insert({ delayMs: 500 });
      const row = s.tables.runs.get(id)!;
      const run = { runId: id, epoch: 1, seq: 1, token: "t" } as Awaited<ReturnType<Scene["claim"]>>;
      s.tell({ op: "runs.claim", args: [await s.request()], answer: [run] });
      expect(row.state).toBe("waiting");
    },
  ],
  [
    "S12",
    "a second message under one key",
    async (s) => {
      const { id } = await s.insert();
      await s.send(id, "wait:permit:1");
      s.tell({ op: "inbox.send", args: [[s.message(id, "wait:permit:1")]], answer: [{ outcome: "accepted" }] });
    },
  ],
  [
    "S12",
    "a message that is taken before one that came earlier",
    async (s) => {
      const claim = await s.inserted();
      await s.send(claim.runId, "signal:1");
      await s.send(claim.runId, "signal:2");
      await s.commit(claim, { kind: "take", messageKey: "signal:2" });
    },
  ],
  [
    "S12",
    "a run that parks over an unread message",
    async (s) => {
      const claim = await s.inserted();
      await s.send(claim.runId, "signal:1");
      await s.commit(claim, { ...park, seenInboxSeq: 9 });
    },
  ],
  [
    "S12",
    "an unread signal that is lost when the run begins a new generation",
    async (s) => {
      const input = { codec: "json", data: '[{"do":"continueAsNew","script":[]}]' };
      const claim = await s.inserted({ input });
      await s.send(claim.runId, "signal:1");
      const continued = { kind: "continue", input: { codec: "json", data: "[]" }, reopen: [] } as const;
      await s.commit(claim, { kind: "take", messageKey: "signal:1" }, continued);
      await checkReplay(s.history, () => true);
    },
  ],
  [
    "S15",
    "more grants than were asked for",
    async (s) => {
      const run = await s.inserted();
      s.tell({ op: "runs.claim", args: [await s.request(1)], answer: [run, run] });
    },
  ],
  ["S14", "two runs of a serial key at work", (s) => admittedByHand(s, "serial", async () => {})],
  [
    "S14",
    "a second run of a serial key while the first is parked",
    (s) => admittedByHand(s, "serial", (c) => s.commit(c, park)),
  ],
  ["S15", "two runs in one slot", (s) => admittedByHand(s, "slots", async () => {})],
  [
    "S16",
    "a completed run that runs again",
    async (s) => {
      const claim = await s.inserted();
      await s.commit(claim, done("null"));
      s.tables.runs.get(claim.runId)!.state = "waiting";
      await s.send(claim.runId, "signal:1");
    },
  ],
  [
    "S16",
    "a retry of a completed run",
    async (s) => {
      const { runId, ...claim } = await s.inserted();
      await s.commit({ runId, ...claim }, done("null"));
      const options = { by: "ann", callId: s.world.token(), fromStart: false };
      s.tell({ op: "runs.retry", args: [[runId], options], answer: [{ outcome: "retried" }] });
    },
  ],
  [
    "S17",
    "a run that is claimed again at its crash limit",
    async (s) => {
      const { runId } = await s.inserted({ crashLimit: 1 });
      await s.world.advance(LEASE_MS);
      s.tables.runs.get(runId)!.crashes = 0;
      await s.sweep();
    },
  ],
  [
    "S17",
    "one attempt too many",
    async (s) => checkAttempt(s.history, s.attempt(await s.inserted(), { attempt: 4, attempts: 3 })),
  ],
  ["S22", "a holder that sent a heartbeat and still counts", (s) => restartedThrice(s, { crashes: 3 })],
  ["S22", "a holder that died before a restart and no longer counts", (s) => restartedThrice(s, { crashes: 1 })],
  [
    "S21",
    "a run that was never inserted",
    async (s) => {
      await s.store.runs.insert([s.newRun()]);
    },
  ],
];
