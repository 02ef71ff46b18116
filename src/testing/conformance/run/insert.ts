// Insert: each run once, in order, with its neighbours safe from an invalid one.

import { cases } from "../case.js";
import { holds, matches, refused, rejects, same, some } from "../expect.js";
import { LONG_MS, PAST_MS, payload, SHORT_MS } from "../scene.js";

export const insertCases = cases("insert", {
  "a new run waits, without a claim": async (s) => {
    const group = { stack: "blue", queue: "ml::train", program: "train", version: "v2" };
    const { id } = await s.insert({ group, priority: -3, crashLimit: 7 });
    const { createdAt, availableAt, ...record } = await s.run(id);
    same(availableAt, createdAt, "availableAt");
    const counts = { failures: 0, crashes: 0, recoveries: 0, pending: 0 };
    const zeros = { epoch: 0, baseSeq: 0, generation: 0, inboxSeq: 0, ...counts };
    const times = { wakeAt: null, leaseUntil: null, endedAt: null, archivedAt: null };
    const nulls = {
      ...times,
      owner: null,
      parentId: null,
      recoveredFrom: null,
      deferred: null,
      attributes: null,
      misfit: null,
    };
    const given = { id, group: s.group(group), priority: -3, crashLimit: 7 };
    same(record, { ...given, state: "waiting", seq: 1, ...zeros, ...nulls }, "record");
  },

  "the input is the journal's first entry": async (s) => {
    const input = { codec: "my-codec", data: 'any text: ü 😀 \\u0000 "' };
    const { id } = await s.insert({ input, group: { program: "greet" } });
    const { createdAt } = await s.run(id);
    const entry = { seq: 1, epoch: 0, kind: "start", name: "greet", key: null, payload: input, at: createdAt };
    same(await s.store.journal.read(id), { entries: [entry], seq: 1, baseSeq: 0 }, "journal");
  },

  "the same id again inserts once": async (s) => {
    const run = await s.insert();
    const answers = await s.store.runs.insert([{ ...run, priority: 9, input: payload("other") }]);
    same(answers, [{ outcome: "inserted", runId: run.id }], "answer");
    matches(await s.run(run.id), { priority: 0, seq: 1 }, "record");
    same((await s.claimOne()).input, run.input, "input");
  },

  "the same id again does not bring an ended run back (S16)": async (s) => {
    const run = s.newRun();
    await s.store.runs.insert([run]);
    await s.store.runs.cancel(run.id, { by: "me" });
    same(await s.store.runs.insert([run]), [{ outcome: "inserted", runId: run.id }], "answer");
    matches(await s.run(run.id), { state: "cancelled", seq: 2 }, "record");
  },

  "ids may repeat within a batch: the first counts": async (s) => {
    const [a, b] = [s.newRun({ priority: 1 }), s.newRun()];
    const answers = await s.store.runs.insert([a, b, { ...a, priority: 2 }]);
    same(
      answers,
      [a, b, a].map(({ id }) => ({ outcome: "inserted", runId: id })),
      "answers",
    );
    matches(await s.run(a.id), { priority: 1 }, "record");
    same(await s.store.runs.count({ env: s.env }), { waiting: 2 }, "count");
  },

  "an empty batch is answered": async (s) => {
    same(await s.store.runs.insert([]), [], "answers");
  },

  "a delayed run waits for its time": async (s) => {
    const { id } = await s.insert({ delayMs: LONG_MS });
    const { createdAt, availableAt } = await s.run(id);
    same(availableAt, createdAt + LONG_MS, "availableAt");
    same(await s.claim(), [], "claims");
  },

  "a delayed run is claimable when its time has come": async (s) => {
    const { id } = await s.insert({ delayMs: SHORT_MS });
    await s.advance(PAST_MS);
    same((await s.claimOne()).runId, id, "claimed");
  },

  "a batch is claimed in its order, whatever the ids": async (s) => {
    const runs = Array.from({ length: 20 }, () => s.newRun()).reverse();
    await s.store.runs.insert(runs);
    await s.advance(1);
    same(
      (await s.claim()).map(({ runId }) => runId),
      runs.map(({ id }) => id),
      "order",
    );
  },

  "a large payload comes back exactly": async (s) => {
    const input = { codec: "raw", data: "é\n".repeat(300_000) };
    await s.insert({ input });
    holds((await s.claimOne()).input.data === input.data, "the input's data is the same");
  },

  "names that mean something elsewhere are names": async (s) => {
    for (const name of ["__proto__", "constructor", "select", "null", "x".repeat(128), "ml::train", "Case", "case"]) {
      const { id } = await s.insert({ group: { queue: name, program: name } });
      matches((await s.run(id)).group, { queue: name, program: name }, "group");
      const [groupId] = await s.store.runs.groupIds([s.group({ queue: name, program: name })]);
      same((await s.claimOne({ groupIds: [some(groupId, "group id")] })).runId, id, `claimed under ${name}`);
    }
  },

  "names outside the rules are refused with a code (F73)": async (s) => {
    for (const queue of ["", "a'; drop table runs;--", "%", "../..", "naïve 😀", "a b", "a\0b", "x".repeat(129)]) {
      refused((await s.store.runs.insert([s.newRun({ group: { queue } })]))[0]!, `queue ${JSON.stringify(queue)}`);
      await rejects(s.store.runs.groupIds([s.group({ queue })]), `group of queue ${JSON.stringify(queue)}`);
    }
  },

  "a group has one number, each combination its own": async (s) => {
    const others = [{}, { stack: "blue" }, { queue: "q" }, { program: "p" }, { version: "1" }, { env: `${s.env}-2` }];
    const groups = others.map((other) => s.group(other));
    const ids = await s.store.runs.groupIds(groups);
    same(new Set(ids).size, groups.length, "different numbers");
    const again = await s.store.runs.groupIds([...groups].reverse());
    same([...again].reverse(), ids, "the same numbers, in the order asked");
    same(await s.store.runs.groupIds([s.group(), s.group()]), [ids[0], ids[0]], "one group asked twice");
  },

  "a run that cannot be stored is refused alone (F64)": async (s) => {
    const good = [s.newRun(), s.newRun(), s.newRun()] as const;
    const bad = [s.newRun({ input: { codec: "json", data: "a\0b" } }), s.newRun({ delayMs: -1 })] as const;
    const answers = await s.store.runs.insert([good[0], bad[0], good[1], bad[1], good[2]]);
    same(
      answers.map(({ outcome, runId }) => [outcome, runId]),
      [good[0], bad[0], good[1], bad[1], good[2]].map(({ id }, i) => [i % 2 ? "refused" : "inserted", id]),
      "answers",
    );
    for (const { id } of bad) same(await s.store.runs.get(id), null, "the refused run");
    for (const { id } of good) matches(await s.run(id), { state: "waiting" }, "its neighbour");
  },

  "what no column can hold is refused with a code": async (s) => {
    const bad = {
      "an id that is no UUID": { id: "run-1" },
      "a delay that is no number": { delayMs: Number.NaN },
      "a delay without end": { delayMs: Number.POSITIVE_INFINITY },
      "a crash limit of zero": { crashLimit: 0 },
      "a broken priority": { priority: 1.5 },
      "a priority of 33 bits": { priority: 2 ** 32 },
      "NUL in the queue": { group: { queue: "a\0b" } },
      "NUL in the key": { key: s.newKey({ key: "a\0b" }) },
    };
    for (const [what, options] of Object.entries(bad)) {
      const [answer] = await s.store.runs.insert([s.newRun(options)]);
      refused(some(answer, what), what);
    }
    same(await s.store.runs.count({ env: s.env }), {}, "runs in the store");
  },

  "half a surrogate pair is refused or kept, never changed (F68)": async (s) => {
    const run = s.newRun({ input: { codec: "raw", data: "half: \ud83d" } });
    const [answer] = await s.store.runs.insert([run]);
    if (answer?.outcome !== "refused") same((await s.claimOne()).input, run.input, "input");
  },

  "what the caller does with its objects later changes nothing": async (s) => {
    const input = { codec: "json", data: "1" };
    await s.insert({ input });
    input.data = "2";
    same((await s.claimOne()).input, { codec: "json", data: "1" }, "input");
  },
});
