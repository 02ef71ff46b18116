// Kept values: read by key and in order, gone when they expire, and written under a claim or with a transaction or not at all.

import { cases } from "../case.js";
import { matches, rejects, same } from "../expect.js";
import { append, complete, handBack, LONG_MS, PAST_MS, payload, type Scene, SHORT_MS } from "../scene.js";

const write = (s: Scene, key: string, value: unknown, ttlMs: number | null = null) => ({
  env: s.env,
  space: "cache",
  key,
  value: value === null ? null : payload(value),
  ttlMs,
});
const KEPT = { outcome: "kept" } as const;
const LOST = { outcome: "lost" } as const;
const keys = async (s: Scene, more: { after?: string; limit?: number } = {}) =>
  (await s.store.kept.list({ env: s.env, space: "cache", limit: 100, ...more })).map(({ key }) => key);

export const keptCases = cases("kept values", {
  "a value is read by its key, replaced and removed": async (s) => {
    same(await s.store.kept.get(s.env, "cache", "a"), null, "before");
    same(await s.store.kept.put([write(s, "a", 1)]), KEPT, "answer");
    matches((await s.store.kept.get(s.env, "cache", "a"))!, { key: "a", value: payload(1), until: null }, "value");
    same(await s.store.kept.get(s.env, "other", "a"), null, "in another space");
    await s.store.kept.put([write(s, "a", 2, LONG_MS), write(s, "b", 3)]);
    const { until, at } = (await s.store.kept.get(s.env, "cache", "a"))!;
    same(Math.round((until! - at) / LONG_MS), 1, "its time");
    await s.store.kept.put([write(s, "a", null), write(s, "never", null)]);
    same(await keys(s), ["b"], "keys");
  },

  "a space is listed in the order of its keys, by code point, a page at a time": async (s) => {
    await s.store.kept.put(["b", "a", "B", "é", "a.1"].map((key) => write(s, key, key)));
    await s.store.kept.put([{ ...write(s, "0", 0), space: "other" }]);
    same(await keys(s), ["B", "a", "a.1", "b", "é"], "keys");
    same(await keys(s, { after: "a", limit: 2 }), ["a.1", "b"], "a page");
    same(await keys(s, { limit: 0 }), [], "none");
  },

  "of two values for one key in one call the last counts": async (s) => {
    await s.store.kept.put([write(s, "a", 1), write(s, "b", 1), write(s, "a", 2), write(s, "b", null)]);
    same(await keys(s), ["a"], "keys");
    same((await s.store.kept.get(s.env, "cache", "a"))?.value, payload(2), "value");
  },

  "an expired value is not read, and clean-up removes it": async (s) => {
    const clean = (keepMs: number) => s.store.cleanUp({ part: "kept", env: s.env, everyMs: 0, keepMs, limit: 1000 });
    await s.store.kept.put([write(s, "a", 1, SHORT_MS), write(s, "b", 1, LONG_MS), write(s, "c", 1)]);
    await s.advance(PAST_MS);
    same(await s.store.kept.get(s.env, "cache", "a"), null, "value");
    same(await keys(s), ["b", "c"], "keys");
    same((await clean(LONG_MS))?.removed, 0, "one that expired just now");
    await s.advance(2);
    same((await clean(0))?.removed, 1, "removed");
    await s.store.kept.put([write(s, "a", 2)]);
    same(await keys(s), ["a", "b", "c"], "written again");
  },

  "a write under a claim needs the claim: its epoch, its token, and that it is held": async (s) => {
    const claim = await s.start();
    const under = { runId: claim.runId, epoch: claim.epoch, token: claim.token };
    same(await s.store.kept.put([write(s, "a", 1)], { under }), KEPT, "the holder");
    for (const wrong of [{ epoch: claim.epoch + 1 }, { token: s.token() }, { runId: s.id() }, { runId: "?" }])
      same(await s.store.kept.put([write(s, "a", 2)], { under: { ...under, ...wrong } }), LOST, JSON.stringify(wrong));
    await s.accept(claim, [append("x"), handBack]);
    same(await s.store.kept.put([write(s, "a", 3)], { under }), LOST, "after it was handed back");
    const next = await s.claimOne();
    same(await s.store.kept.put([write(s, "a", null)], { under }), LOST, "while another holds it");
    await s.accept(next, [complete]);
    same((await s.store.kept.get(s.env, "cache", "a"))?.value, payload(1), "value");
  },

  "values in a transaction are there after its commit, and not after a rollback": async (s) => {
    await s.store.kept.put([write(s, "a", 1), write(s, "b", 1)]);
    const change = [write(s, "a", 2), write(s, "b", null)];
    await s.transaction("rollback", (tx) => s.store.kept.put(change, { tx }));
    same((await s.store.kept.get(s.env, "cache", "a"))?.value, payload(1), "after a rollback");
    same(await keys(s), ["a", "b"], "keys after a rollback");
    await s.transaction("commit", (tx) => s.store.kept.put(change, { tx }));
    same((await s.store.kept.get(s.env, "cache", "a"))?.value, payload(2), "after a commit");
    same(await keys(s), ["a"], "keys after a commit");
  },

  "values and the entry of a step are written together, or neither when the claim is lost": async (s) => {
    const claim = await s.start();
    const seal = (token: string) =>
      s.store.runs.transact(async (tx) => {
        await s.store.kept.put([write(s, token, 1)], { tx });
        return { claim: { ...claim, token }, expectedSeq: claim.seq, effects: [append("x")] };
      });
    same((await seal(s.token())).outcome, "lost", "another token");
    same(await keys(s), [], "keys");
    same((await seal(claim.token)).outcome, "accepted", "the holder");
    same(await keys(s), [claim.token], "keys");
  },

  "names that cannot be stored are refused": async (s) => {
    await rejects(s.store.kept.put([write(s, "", 1)]), "an empty key");
    await rejects(s.store.kept.put([write(s, "x".repeat(513), 1)]), "a long key");
    await rejects(s.store.kept.put([{ ...write(s, "a", 1), ttlMs: -1 }]), "a negative time");
    same(await s.store.kept.get(s.env, "cache", "a\0"), null, "NUL");
  },
});
