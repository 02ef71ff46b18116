// Keys of outputs: each is given to one call, kept for its time, and found again by the same call.

import { OUTPUT_SCOPE } from "../../../store/contract/run/outputs.js";
import { cases } from "../case.js";
import { rejects, same } from "../expect.js";
import { complete, LONG_MS, PAST_MS, type Scene, SHORT_MS } from "../scene.js";

const asked = (s: Scene, changes: Partial<Parameters<Scene["store"]["runs"]["takeOutput"]>[0]> = {}) => ({
  env: s.env,
  key: "invoice-1",
  runId: s.token(),
  call: "first",
  keepMs: LONG_MS,
  ...changes,
});

export const outputCases = cases("outputs", {
  "a key is given to one call, and to the same call again": async (s) => {
    const first = asked(s);
    same(await s.store.runs.takeOutput(first), { outcome: "taken" }, "first");
    same(await s.store.runs.takeOutput(first), { outcome: "taken" }, "the same call, repeated");
    const held = { outcome: "held", runId: first.runId };
    same(await s.store.runs.takeOutput(asked(s, { call: "second" })), held, "another run");
    same(await s.store.runs.takeOutput({ ...first, call: "second" }), held, "another call of the same run");
    same(await s.store.runs.takeOutput(asked(s, { key: "invoice-2" })), { outcome: "taken" }, "another key");
    same(await s.store.runs.takeOutput(asked(s, { env: "elsewhere" })), { outcome: "taken" }, "another env");
  },

  "of many callers at once one gets the key": async (s) => {
    const calls = Array.from({ length: 8 }, (_, i) => asked(s, { call: `call ${i}` }));
    const answers = await Promise.all(calls.map((call) => s.store.runs.takeOutput(call)));
    const winner = calls[answers.findIndex(({ outcome }) => outcome === "taken")]!;
    same(answers.filter(({ outcome }) => outcome === "taken").length, 1, "winners");
    const holders = answers.flatMap((answer) => (answer.outcome === "held" ? answer.runId : []));
    same([...new Set(holders)], [winner.runId], "who has it, as the others see it");
  },

  "a key is free when its time has passed, not before": async (s) => {
    await s.store.runs.takeOutput(asked(s, { keepMs: SHORT_MS }));
    same((await s.store.runs.takeOutput(asked(s, { call: "second" }))).outcome, "held", "before");
    await s.advance(PAST_MS);
    same(await s.store.runs.takeOutput(asked(s, { call: "second" })), { outcome: "taken" }, "after");
    same((await s.store.runs.takeOutput(asked(s, { call: "third" }))).outcome, "held", "taken for its own time");
  },

  "a key taken in a transaction is there after its commit, and not after a rollback": async (s) => {
    await s.transaction("rollback", (tx) => s.store.runs.takeOutput(asked(s), { tx }));
    const second = asked(s, { call: "second" });
    await s.transaction("commit", (tx) => s.store.runs.takeOutput(second, { tx }));
    same(await s.store.runs.takeOutput(asked(s)), { outcome: "held", runId: second.runId }, "after a commit");
  },

  "a key outlives its run, is no key that the run was started under, and finds the run": async (s) => {
    const claim = await s.start();
    await s.store.runs.takeOutput(asked(s, { runId: claim.runId }));
    same(await s.store.runs.keyOf(claim.runId), null, "its own key");
    const found = { env: s.env, scope: OUTPUT_SCOPE, key: "invoice-1" };
    same(await s.store.runs.findKey(found), claim.runId, "its run");
    await s.accept(claim, [complete]);
    await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 });
    same(
      await s.store.runs.takeOutput(asked(s, { call: "second" })),
      { outcome: "held", runId: claim.runId },
      "pruned",
    );
  },

  "keys and times that are none are refused": async (s) => {
    await rejects(s.store.runs.takeOutput(asked(s, { key: "" })), "an empty key");
    await rejects(s.store.runs.takeOutput(asked(s, { key: "x".repeat(181) })), "a long key");
    await rejects(s.store.runs.takeOutput(asked(s, { runId: "no id" })), "no id");
    await rejects(s.store.runs.takeOutput(asked(s, { keepMs: Number.NaN })), "no time");
  },
});
