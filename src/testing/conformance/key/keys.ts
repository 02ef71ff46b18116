// Keys: one run per key for its lifetime; a conflict is an answer, never an exception.

import type { KeyLifetime, NewKey } from "../../../kernel/run/new-run.js";
import type { InsertAnswer } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { refused, same, some } from "../expect.js";
import { complete, LONG_MS, PAST_MS, park, retry, type Scene, SHORT_MS } from "../scene.js";

async function insertWith(s: Scene, key: Partial<NewKey>): Promise<InsertAnswer & { readonly mine: string }> {
  const run = s.newRun({ key: s.newKey(key) });
  const [answer] = await s.store.runs.insert([run]);
  return { ...some(answer, "the answer"), mine: run.id };
}

/** Three bytes each, in an order that no compression makes shorter. */
function ideographs(length: number): string {
  let at = 1;
  const next = () => {
    at = (at * 48_271) % 0x7fffffff;
    return 0x4e00 + (at % 20_000);
  };
  return String.fromCharCode(...Array.from({ length }, next));
}

/** A run under the key `k`, claimed. */
function startWith(s: Scene, lifetime: KeyLifetime) {
  return s.start({ key: s.newKey({ lifetime }) });
}

export const keyCases = cases("keys", {
  "the same key and payload answers the run that is there": async (s) => {
    const first = await insertWith(s, {});
    const second = await insertWith(s, {});
    same([second.outcome, second.runId], ["existing", first.runId], "answer");
    same(await s.store.runs.get(second.mine), null, "the second run");
  },

  "the same key with another payload is a conflict": async (s) => {
    const first = await insertWith(s, {});
    const second = await insertWith(s, { payloadHash: "h2" });
    same([second.outcome, second.runId], ["conflict", first.runId], "answer");
    same(await s.store.runs.get(second.mine), null, "the second run");
  },

  "a run is found by its key, also after its end, until it is pruned": async (s) => {
    const asked = { env: s.env, scope: "work", key: "k" };
    same(await s.store.runs.findKey(asked), null, "before");
    const claim = await startWith(s, "live");
    same(await s.store.runs.findKey(asked), claim.runId, "while it lives");
    same(await s.store.runs.findKey({ ...asked, key: "other" }), null, "another key");
    same(await s.store.runs.findKey({ ...asked, scope: "other" }), null, "another scope");
    await s.accept(claim, [complete]);
    same(await s.store.runs.findKey(asked), claim.runId, "after its end");
    await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 });
    same(await s.store.runs.findKey(asked), null, "pruned");
  },

  "a trigger skips another payload in silence": async (s) => {
    const first = await insertWith(s, {});
    const second = await insertWith(s, { payloadHash: "h2", onMismatch: "skip" });
    same([second.outcome, second.runId], ["existing", first.runId], "answer");
  },

  "the same run again, with its key, is inserted": async (s) => {
    const run = await s.insert({ key: s.newKey() });
    same(await s.store.runs.insert([run]), [{ outcome: "inserted", runId: run.id }], "answer");
    await s.claimOne();
    same(await s.store.runs.insert([run]), [{ outcome: "inserted", runId: run.id }], "answer while it runs");
  },

  "keys of other scopes and envs do not meet": async (s) => {
    await insertWith(s, {});
    same((await insertWith(s, { scope: "other" })).outcome, "inserted", "another scope");
    same((await insertWith(s, { key: "k2" })).outcome, "inserted", "another key");
    const elsewhere = s.newRun({ key: s.newKey({ payloadHash: "h2" }), group: { env: `${s.env}-2` } });
    same((await s.store.runs.insert([elsewhere]))[0]?.outcome, "inserted", "another env");
  },

  "the longest key, scope and env there may be are stored together (F73)": async (s) => {
    const key = { key: ideographs(512), scope: ideographs(200) };
    const group = { env: s.env.padEnd(63, "x") };
    const run = s.newRun({ key: s.newKey(key), group });
    same(await s.store.runs.insert([run]), [{ outcome: "inserted", runId: run.id }], "answer");
    const [again] = await s.store.runs.insert([s.newRun({ key: s.newKey(key), group })]);
    same([again?.outcome, again?.runId], ["existing", run.id], "again");
    for (const part of [{ key: ideographs(513) }, { scope: ideographs(201) }]) {
      const [answer] = await s.store.runs.insert([s.newRun({ key: s.newKey({ ...key, ...part }) })]);
      const error = refused(some(answer, "answer"), `a longer ${Object.keys(part)}`);
      same(error.code, "LIMIT_EXCEEDED", "the error's code");
    }
  },

  "a live key is taken while its run waits, parks or retries": async (s) => {
    const claim = await startWith(s, "live");
    same((await insertWith(s, {})).outcome, "existing", "while running");
    await s.accept(claim, [park()]);
    same((await insertWith(s, {})).outcome, "existing", "while parked");
    await s.store.inbox.send([s.message(claim.runId)]);
    await s.accept(await s.claimOne(), [retry(LONG_MS)]);
    same((await insertWith(s, {})).outcome, "existing", "while it backs off");
  },

  "a live key passes on when its run has ended": async (s) => {
    await s.accept(await startWith(s, "live"), [complete]);
    const next = await insertWith(s, { payloadHash: "h2" });
    same([next.outcome, next.runId], ["inserted", next.mine], "answer");
    same((await insertWith(s, { payloadHash: "h2" })).runId, next.mine, "who has the key now");
    same((await insertWith(s, { payloadHash: "h1" })).outcome, "conflict", "the old payload");
  },

  "an archived key is taken until its run is archived": async (s) => {
    const claim = await startWith(s, "archived");
    await s.accept(claim, [complete]);
    same((await insertWith(s, {})).runId, claim.runId, "after the end");
    same(await s.store.runs.archive({ env: s.env, endedBeforeMs: 0, limit: 10 }), 1, "archived");
    same((await insertWith(s, {})).outcome, "inserted", "after archiving");
  },

  "a key is free when its run is pruned, unless it is reserved for a longer time": async (s) => {
    await s.accept(await startWith(s, "archived"), [complete]);
    await s.accept(await s.start({ key: s.newKey({ key: "k2", lifetime: { forMs: LONG_MS } }) }), [complete]);
    same(await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 }), 2, "pruned");
    same((await insertWith(s, { payloadHash: "h2" })).outcome, "inserted", "lifetime archived");
    same((await insertWith(s, { key: "k2", payloadHash: "h2" })).outcome, "conflict", "lifetime by time");
  },

  "a timed key outlives its run": async (s) => {
    const claim = await startWith(s, { forMs: LONG_MS });
    await s.accept(claim, [complete]);
    await s.store.runs.archive({ env: s.env, endedBeforeMs: 0, limit: 10 });
    same((await insertWith(s, {})).runId, claim.runId, "after its run was archived");
  },

  "a timed key is free after its time, though its run lives": async (s) => {
    await startWith(s, { forMs: SHORT_MS });
    await s.advance(PAST_MS);
    same((await insertWith(s, { payloadHash: "h2" })).outcome, "inserted", "answer");
  },

  "two runs with one key in a batch: the first has it": async (s) => {
    const runs = ["h1", "h1", "h2"].map((payloadHash) => s.newRun({ key: s.newKey({ payloadHash }) }));
    const other = s.newRun({ key: s.newKey({ key: "k2" }) });
    const answers = await s.store.runs.insert([...runs, other]);
    const first = runs[0]!.id;
    const expected = [
      { outcome: "inserted", runId: first },
      { outcome: "existing", runId: first },
      { outcome: "conflict", runId: first },
      { outcome: "inserted", runId: other.id },
    ];
    same(answers, expected, "answers");
  },

  "of many at once with one key, one run is made (F61)": async (s) => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => insertWith(s, {})));
    same(answers.filter(({ outcome }) => outcome === "inserted").length, 1, "inserted");
    same(new Set(answers.map(({ runId }) => runId)).size, 1, "runs answered");
    same(await s.store.runs.count({ env: s.env }), { waiting: 1 }, "runs in the store");
  },

  "a key handed on at once by many goes to one": async (s) => {
    await s.accept(await startWith(s, "live"), [complete]);
    const answers = await Promise.all(Array.from({ length: 10 }, () => insertWith(s, {})));
    same(answers.filter(({ outcome }) => outcome === "inserted").length, 1, "inserted");
    same(new Set(answers.map(({ runId }) => runId)).size, 1, "runs answered");
  },
});
