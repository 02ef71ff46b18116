// A transaction step: its writes and its journal entry exist together, or neither does (S6).

import type { ClaimedRun, Commit } from "../../../store/contract/run/runs.js";
import type { Transaction } from "../../../store/contract/transaction.js";
import { cases } from "../case.js";
import { same } from "../expect.js";
import { append, complete, handBack, type Scene } from "../scene.js";

const THROWN = { reason: "no" };
const seal = [append("book")];

/** Inserts a run in the transaction, then seals it under the claim. */
function transact(
  s: Scene,
  claim: ClaimedRun,
  inserted: string[],
  { expectedSeq = claim.seq, effects = seal }: Partial<Omit<Commit, "claim">> = {},
) {
  return s.store.runs.transact(async (tx: Transaction) => {
    const run = s.newRun({ group: { queue: "other" } });
    await s.store.runs.insert([run], { tx });
    inserted.push(run.id);
    return { claim, expectedSeq, effects };
  });
}

export const sealedTransactionCases = cases("sealed transactions", {
  "what it inserted is there together with its entry": async (s) => {
    const claim = await s.start();
    const ids: string[] = [];
    same((await transact(s, claim, ids)).outcome, "accepted", "answer");
    same((await s.run(ids[0]!)).state, "waiting", "the inserted run");
    same(await s.log(claim.runId), ["start", "step"], "log");
    same((await s.run(claim.runId)).seq, claim.seq + 1, "seq");
    await s.accept(claim, [complete], claim.seq + 1);
  },

  "what it throws is thrown, and nothing is left of it": async (s) => {
    const claim = await s.start();
    const run = s.newRun();
    const failing = s.store.runs.transact(async (tx) => {
      await s.store.runs.insert([run], { tx });
      throw THROWN;
    });
    const thrown = await failing.then(
      () => null,
      (error: unknown) => error,
    );
    same(thrown === THROWN, true, "the very error");
    same(await s.store.runs.get(run.id), null, "the inserted run");
    await s.accept(claim, [complete]);
  },

  "under a released claim nothing is written": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [handBack]);
    const ids: string[] = [];
    same(await transact(s, claim, ids), { outcome: "lost" }, "answer");
    same(await s.store.runs.get(ids[0]!), null, "the inserted run");
  },

  "an old claim cannot seal what a new one holds": async (s) => {
    const old = await s.start();
    await s.accept(old, [handBack]);
    const next = await s.claimOne();
    const ids: string[] = [];
    same(await transact(s, old, ids, { expectedSeq: next.seq }), { outcome: "lost" }, "answer");
    same(await s.store.runs.get(ids[0]!), null, "the inserted run");
    same((await s.run(old.runId)).seq, next.seq, "the log");
  },

  "at another sequence nothing is written": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [append("a")]);
    const ids: string[] = [];
    same(await transact(s, claim, ids, { effects: [append("b")] }), { outcome: "moved", seq: claim.seq + 1 }, "answer");
    same(await s.store.runs.get(ids[0]!), null, "the inserted run");
  },

  "sealed twice by a caller that had no answer, it is there once": async (s) => {
    const claim = await s.start();
    const ids: string[] = [];
    await transact(s, claim, ids);
    same(await transact(s, claim, ids), { outcome: "recorded", seq: claim.seq + 1 }, "answer");
    same(await s.store.runs.get(ids[1]!), null, "what the second inserted");
    same(await s.log(claim.runId), ["start", "step"], "log");
  },
});
