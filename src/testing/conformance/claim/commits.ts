// Commits: the fence, the answer to a rejected one, and that a repeated one finds itself (S4, S6, S8).

import type { Effect } from "../../../kernel/run/effect.js";
import { cases } from "../case.js";
import { holds, matches, refused, same, some } from "../expect.js";
import {
  append,
  complete,
  fail,
  handBack,
  LONG_MS,
  PAST_MS,
  park,
  payload,
  retry,
  type Scene,
  SHORT_MS,
} from "../scene.js";

/** A claim that was lost to another holder. */
async function takenOver(s: Scene) {
  const old = await s.start({}, { leaseMs: SHORT_MS });
  await s.advance(PAST_MS);
  await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
  return { old, next: await s.claimOne({ owner: s.token() }) };
}

export const commitCases = cases("commits", {
  "each effect writes one entry, in order, under the claim's epoch": async (s) => {
    const claim = await s.start();
    const full: Effect = { kind: "append", entry: { kind: "step", name: "a", key: "k", payload: payload(1) } };
    const bare: Effect = { kind: "append", entry: { kind: "wait", name: "" } };
    same(await s.commit(claim, [full, bare]), { outcome: "accepted", seq: 3, inboxSeq: 0 }, "answer");
    const { entries } = some(await s.store.journal.read(claim.runId, { after: 1 }), "journal");
    const at = entries[0]?.at;
    const expected = [
      { seq: 2, epoch: 1, kind: "step", name: "a", key: "k", payload: payload(1), at },
      { seq: 3, epoch: 1, kind: "wait", name: "", key: null, payload: null, at },
    ];
    same(entries, expected, "entries");
    matches(await s.run(claim.runId), { state: "running", seq: 3, crashes: 0 }, "record");
  },

  "commits follow each other": async (s) => {
    const claim = await s.start();
    const seq = await s.accept(claim, [append("a")]);
    await s.accept(claim, [append("b"), append("c")], seq);
    same(await s.log(claim.runId), ["start", "step", "step", "step"], "log");
  },

  "the answer carries how far the inbox has grown": async (s) => {
    const claim = await s.start();
    await s.store.inbox.send([s.message(claim.runId)]);
    same(await s.commit(claim, [append("a")]), { outcome: "accepted", seq: 2, inboxSeq: 1 }, "answer");
  },

  "another token, epoch or run is lost and writes nothing (S4)": async (s) => {
    const claim = await s.start();
    const wrong = [{ token: s.token() }, { epoch: 0 }, { epoch: 2 }, { runId: s.id() }];
    for (const part of wrong) {
      for (const effects of [[append("a"), complete], [append("a")]])
        same(await s.commit({ ...claim, ...part }, effects), { outcome: "lost" }, JSON.stringify(part));
    }
    same(await s.log(claim.runId), ["start"], "log");
    matches(await s.run(claim.runId), { state: "running", seq: 1, crashes: 1 }, "record");
  },

  "a commit at another sequence learns where the journal is": async (s) => {
    const claim = await s.start();
    same(await s.commit(claim, [append("a")], 0), { outcome: "moved", seq: 1 }, "too low");
    same(await s.commit(claim, [append("a")], 5), { outcome: "moved", seq: 1 }, "too high");
    same(await s.log(claim.runId), ["start"], "log");
  },

  "nothing of a dead owner is accepted after the takeover (S4, F03)": async (s) => {
    const { old, next } = await takenOver(s);
    same(await s.commit(old, [append("late"), complete]), { outcome: "lost" }, "the old holder");
    same(await s.commit(old, [append("late")]), { outcome: "lost" }, "the old holder, a single entry");
    same(await s.log(old.runId), ["start"], "log");
    await s.accept(next, [append("a"), complete]);
    same(await s.commit(old, [append("late")]), { outcome: "lost" }, "the old holder, after the end");
    same(await s.log(old.runId), ["start", "step", "completed"], "log");
  },

  "an expired holder's commit is accepted while no other node took over": async (s) => {
    const claim = await s.start({}, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await s.accept(claim, [append("a"), complete]);
  },

  "a holder who was swept and not replaced has lost": async (s) => {
    const claim = await s.start({}, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    same(await s.commit(claim, [append("a")]), { outcome: "lost" }, "answer");
  },

  "a repeated commit is recorded, and written once (S6, F41)": async (s) => {
    const claim = await s.start();
    const effects = [append("a", 1), append("b", 2)];
    await s.accept(claim, effects);
    const before = await s.run(claim.runId);
    same(await s.commit(claim, effects), { outcome: "recorded", seq: 3 }, "at once");
    same(await s.run(claim.runId), before, "record");
    await s.accept(claim, [append("c")], 3);
    same(await s.commit(claim, effects), { outcome: "recorded", seq: 3 }, "when the journal has moved");
    same(await s.log(claim.runId), ["start", "step", "step", "step"], "log");
  },

  "a repeated settling commit is recorded": async (s) => {
    for (const last of [complete, fail(), retry(LONG_MS), park(), handBack]) {
      const claim = await s.start();
      await s.accept(claim, [append("a"), last]);
      same(await s.commit(claim, [append("a"), last]), { outcome: "recorded", seq: 3 }, last.kind);
      same((await s.run(claim.runId)).seq, 3, "sequence");
      await s.store.runs.cancel(claim.runId, { by: "the case" });
    }
  },

  "a repeated commit is recorded although another node took over": async (s) => {
    const old = await s.start();
    await s.accept(old, [append("a"), handBack]);
    const next = await s.claimOne();
    await s.accept(next, [append("b")]);
    same(await s.commit(old, [append("a"), handBack]), { outcome: "recorded", seq: 3 }, "answer");
  },

  "a longer commit at a recorded place is not a repeat": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [append("a")]);
    same(await s.commit(claim, [append("a"), append("b")]), { outcome: "moved", seq: 2 }, "answer");
    same(await s.log(claim.runId), ["start", "step"], "log");
  },

  "an ended run takes no more (S16)": async (s) => {
    const claim = await s.start();
    const seq = await s.accept(claim, [complete]);
    same(await s.commit(claim, [append("late")], seq), { outcome: "lost" }, "answer");
    same(await s.log(claim.runId), ["start", "completed"], "log");
  },

  "a malformed commit is refused before anything is written": async (s) => {
    const claim = await s.start();
    const bad: Record<string, readonly Effect[]> = {
      "no effect": [],
      "settling first": [complete, append("a")],
      "two that settle": [complete, handBack],
      "a retry in the past": [retry(-1)],
      "a wake-up in the past": [park({ wakeInMs: -1 })],
      "a retry at no time": [retry(Number.NaN)],
    };
    for (const [what, effects] of Object.entries(bad)) refused(await s.commit(claim, effects), what);
    same(await s.log(claim.runId), ["start"], "log");
    matches(await s.run(claim.runId), { state: "running", seq: 1 }, "record");
  },

  "data that cannot be stored is rejected, the claim continues (F67)": async (s) => {
    const claim = await s.start();
    const nul = { codec: "json", data: "a\0b" };
    const bad: Record<string, Effect> = {
      "a step's result": { kind: "append", entry: { kind: "step", name: "a", payload: nul } },
      "a step's name": { kind: "append", entry: { kind: "step", name: "a\0" } },
      "an output": { kind: "complete", output: nul },
      "a failure's reason": { kind: "fail", as: "failed", reason: nul },
      "an error": { kind: "retry", delayMs: 0, error: nul },
      "a child's input": { kind: "enqueue", name: "child", run: s.newRun({ input: nul }) },
    };
    for (const [what, effect] of Object.entries(bad)) refused(await s.commit(claim, [append("ok"), effect]), what);
    same(await s.log(claim.runId), ["start"], "log");
    await s.accept(claim, [complete]);
  },

  "one bad commit leaves its neighbours alone (F64)": async (s) => {
    const claims = [await s.start(), await s.start(), await s.start(), await s.start(), await s.start()];
    const nul: Effect = { kind: "complete", output: { codec: "json", data: "\0" } };
    const effects = [[complete], [nul], [append("a"), complete], [], [complete]];
    const commits = claims.map((claim, i) => ({ claim, expectedSeq: claim.seq, effects: effects[i]! }));
    const answers = await s.store.runs.commit(commits);
    const outcomes = answers.map(({ outcome }) => outcome);
    same(outcomes, ["accepted", "refused", "accepted", "refused", "accepted"], "answers");
    same(await s.store.runs.count({ env: s.env }), { completed: 3, running: 2 }, "states");
  },

  "one stale commit is refused alone": async (s) => {
    const { old, next } = await takenOver(s);
    const other = await s.start();
    const commits = [other, old, next].map((claim) => ({ claim, expectedSeq: 1, effects: [append("a"), complete] }));
    const answers = await s.store.runs.commit(commits);
    same(
      answers.map(({ outcome }) => outcome),
      ["accepted", "lost", "accepted"],
      "answers",
    );
    same(await s.log(next.runId), ["start", "step", "completed"], "log");
  },

  "an old and a live claim on one run in a call are judged apart, in any order": async (s) => {
    for (const order of ["old first", "live first"]) {
      const { old, next } = await takenOver(s);
      const effects = [append(order)];
      const both = [old, next].map((claim) => ({ claim, expectedSeq: 1, effects }));
      const answers = await s.store.runs.commit(order === "old first" ? both : both.reverse());
      const outcomes = answers.map(({ outcome }) => outcome);
      same(order === "old first" ? outcomes : outcomes.reverse(), ["lost", "accepted"], order);
      same(await s.log(old.runId), ["start", "step"], "log");
      await s.accept(next, [complete], 2);
    }
  },

  "an old claim that is ahead of the journal writes nothing next to a live one": async (s) => {
    // As after a failover that lost the old claim's last commits: its place in the log is free, only the fence refuses it.
    const { old, next } = await takenOver(s);
    const [stale, live] = await s.store.runs.commit([
      { claim: old, expectedSeq: 5, effects: [append("stale")] },
      { claim: next, expectedSeq: 1, effects: [append("live")] },
    ]);
    same([stale?.outcome, live?.outcome], ["lost", "accepted"], "outcomes");
    const seq = await s.accept(next, [append("a"), append("b"), append("c"), append("d")], 2);
    same(await s.log(old.runId), ["start", "step", "step", "step", "step", "step"], "log");
    await s.accept(next, [complete], seq);
  },

  "a second commit of one claim in a call is refused": async (s) => {
    const claim = await s.start();
    const commits = [1, 2].map((expectedSeq) => ({ claim, expectedSeq, effects: [append("a")] }));
    const [first, second] = await s.store.runs.commit(commits);
    same(first?.outcome, "accepted", "the first");
    refused(some(second, "answer"), "the second");
    same(await s.log(claim.runId), ["start", "step"], "log");
  },

  "the log has no gap and its end is last (S8)": async (s) => {
    const claim = await s.start();
    let seq = await s.accept(claim, [append("a"), append("b")]);
    seq = await s.accept(claim, [append("c")], seq);
    await s.accept(claim, [append("d"), handBack], seq);
    await s.accept(await s.claimOne(), [append("e"), complete]);
    const { entries, seq: last } = some(await s.store.journal.read(claim.runId), "journal");
    same(
      entries.map((entry) => entry.seq),
      Array.from({ length: last }, (_, i) => i + 1),
      "sequences",
    );
    same(entries.at(-1)?.kind, "completed", "the last entry");
    holds(
      entries.every((entry, i) => i === 0 || entry.epoch >= entries[i - 1]!.epoch),
      "epochs never fall",
    );
  },

  "an empty batch is answered": async (s) => {
    same(await s.store.runs.commit([]), [], "answers");
  },
});
