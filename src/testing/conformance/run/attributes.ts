// Search attributes and shown values: written once with their run, changed together, removed with it.

import { cases } from "../case.js";
import { rejects, same } from "../expect.js";
import { append, complete } from "../scene.js";

const EIGHT = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8 };

export const attributeCases = cases("attributes", {
  "a run shows the attributes it was started with": async (s) => {
    const run = await s.insert({ attributes: { region: "eu", cents: 300, paid: true } });
    same((await s.store.runs.get(run.id))?.attributes, { region: "eu", cents: 300, paid: true }, "attributes");
    const plain = await s.insert();
    same((await s.store.runs.get(plain.id))?.attributes, null, "attributes of a run without any");
  },

  "a run with a key has its attributes, and one that lost its key leaves none": async (s) => {
    const key = s.newKey();
    const first = await s.insert({ key, attributes: { region: "eu" } });
    const second = s.newRun({ key, attributes: { region: "us" } });
    same((await s.store.runs.insert([second]))[0]?.outcome, "existing", "answer");
    same((await s.store.runs.get(first.id))?.attributes, { region: "eu" }, "attributes");
  },

  "a change sets some, removes some and leaves the others": async (s) => {
    const { id: runId } = await s.insert({ attributes: { region: "eu", cents: 300 } });
    const attributes = { region: null, cents: 400, paid: false };
    same(await s.store.runs.setAttributes({ runId, attributes }), { outcome: "set" }, "answer");
    same(await s.store.runs.setAttributes({ runId, attributes }), { outcome: "set" }, "the same again");
    same((await s.store.runs.get(runId))?.attributes, { cents: 400, paid: false }, "attributes");
  },

  "a ninth attribute is refused, and nothing of its change is written": async (s) => {
    const { id: runId } = await s.insert({ attributes: EIGHT });
    const change = { runId, attributes: { a: 9, i: 1 } };
    same(await s.store.runs.setAttributes(change), { outcome: "too many" }, "answer");
    same((await s.store.runs.get(runId))?.attributes, EIGHT, "attributes");
    const swap = { runId, attributes: { a: null, i: 1 } };
    same(await s.store.runs.setAttributes(swap), { outcome: "set" }, "one for another");
  },

  "values that are no scalars, and unknown runs, are refused": async (s) => {
    const { id: runId } = await s.insert();
    const wrong = { runId, attributes: { a: { b: 1 } as never } };
    await rejects(s.store.runs.setAttributes(wrong), "an object");
    await rejects(s.store.runs.setAttributes({ runId, attributes: { a: Number.NaN } }), "not a number");
    const nowhere = { runId: s.newRun().id, attributes: { a: 1 } };
    same(await s.store.runs.setAttributes(nowhere), { outcome: "unknown" }, "answer");
    const run = s.newRun({ attributes: { ...EIGHT, i: 9 } });
    same((await s.store.runs.insert([run]))[0]?.outcome, "refused", "a start with nine");
  },

  "a change in a transaction is there after its commit, and not after a rollback": async (s) => {
    const { id: runId } = await s.insert({ attributes: { a: 1 } });
    const change = { runId, attributes: { a: 2, b: 1 } };
    await s.transaction("rollback", (tx) => s.store.runs.setAttributes(change, { tx }));
    same((await s.store.runs.get(runId))?.attributes, { a: 1 }, "after a rollback");
    await s.transaction("commit", (tx) => s.store.runs.setAttributes(change, { tx }));
    same((await s.store.runs.get(runId))?.attributes, { a: 2, b: 1 }, "after a commit");
  },

  "the last value under a name is read, of any generation": async (s) => {
    const claim = await s.start();
    const set = (name: string, data: string) =>
      ({ kind: "append", entry: { kind: "set", name, key: "1", payload: { codec: "json", data } } }) as const;
    await s.accept(claim, [set("status", "1"), set("other", "2"), append("step"), set("status", "3")]);
    same((await s.store.journal.lastSet(claim.runId, "status"))?.payload?.data, "3", "status");
    same((await s.store.journal.lastSet(claim.runId, "other"))?.payload?.data, "2", "other");
    same(await s.store.journal.lastSet(claim.runId, "none"), null, "a name without a value");
    same(await s.store.journal.lastSet("no id", "status"), null, "no id");
  },

  "pruned runs leave no attributes": async (s) => {
    const claim = await s.start({ attributes: { region: "eu" } });
    await s.accept(claim, [complete]);
    same(await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 }), 1, "pruned");
    const run = s.newRun({ id: claim.runId });
    await s.store.runs.insert([run]);
    same((await s.store.runs.get(run.id))?.attributes, null, "attributes of a new run with its id");
  },
});
