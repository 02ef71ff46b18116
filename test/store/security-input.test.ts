// Hostile input at the store's edge: refused with a typed error that names the field before anything is written, or
// stored and read back exactly. One bad row never fails its neighbours.

import { randomBytes, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { HoldfastError } from "../../src/kernel/error.js";
import type { NewRun } from "../../src/kernel/run/new-run.js";
import { append, claimFrom, claimNew, commitOf, commitOne, group, newRun, newRuns, scene, signal } from "./scene.js";

const s = scene();

const UNSTORABLE = { nul: "a\0b", "half of a pair": "a\ud800b", "the other half": "\udc00" };
const STORABLE = {
  empty: "",
  quotes: `'"\`$$;--\\'`,
  injection: "'); drop table runs; --",
  "line breaks": "\r\n\t",
  emoji: "👩‍👩‍👧‍👦 \u{1F600}",
  "right to left": "\u202eabc\u202c",
  "line separators": "\u2028\u2029",
  "escaped nul": "\\u0000",
  "array syntax": '{"a",NULL,"b\\"}',
  "format codes": "%s %n $1 $2::text",
  markup: "<img src=x onerror=alert(1)></script>",
  "prototype keys": '{"__proto__":{"isAdmin":true},"constructor":1,"toString":2,"hasOwnProperty":3}',
  numbers: "[9007199254740993,1e400,-0,1e140000]",
  "a megabyte": "x".repeat(1_000_000),
  deep: "[".repeat(20_000) + "]".repeat(20_000),
  ansi: "\u001b[31mred",
};
const BAD_NAMES = [
  "",
  " ",
  "a b",
  "a/../b",
  "..",
  "a;--",
  "a%",
  "é",
  "👍",
  "\u202e",
  'a"b',
  "a'b",
  "a\0b",
  "\ud800",
  "x".repeat(200),
];
const ODD_NAMES = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "A",
  "a",
  "ml::train",
  "a.b-c_d",
  "NULL",
  "null",
  "true",
];

const total = async () =>
  (
    await s.rows<{ n: number }>(
      "select (select count(*) from {s}.runs)::int + (select count(*) from {s}.inbox)::int as n",
    )
  )[0]!.n;

function expectNamed(error: unknown, path: string | RegExp): void {
  expect(error).toBeInstanceOf(HoldfastError);
  expect(error).toMatchObject({
    code: expect.stringMatching(/^(INVALID_INPUT|LIMIT_EXCEEDED)$/),
    path: expect.stringMatching(path),
  });
}

test("data that PostgreSQL can keep comes back exactly: input, step, message", async () => {
  for (const [name, data] of Object.entries(STORABLE)) {
    const payload = { codec: "json", data };
    const [claim] = await claimNew(s.store, 1, { input: payload });
    expect(claim!.input, name).toEqual(payload);
    await s.store.inbox.send([signal(claim!.runId, "signal:1", { payload })]);
    expect((await s.store.inbox.unread(claim!.runId))[0]!.payload, name).toEqual(payload);
    const step = {
      kind: "append",
      entry: { kind: "step", name: data.slice(0, 150), key: data.slice(0, 150), payload },
    } as const;
    const answer = await commitOne(s.store, commitOf(claim!, step, { kind: "take", messageKey: "signal:1" }));
    expect(answer.outcome, name).toBe("accepted");
    const { entries } = (await s.store.journal.read(claim!.runId))!;
    expect(entries[1], name).toMatchObject({ name: data.slice(0, 150), key: data.slice(0, 150), payload });
    expect(entries[2]!.payload, name).toEqual(payload);
  }
});

test("text that PostgreSQL cannot keep is refused with its field, and nothing is written", async () => {
  const [claim] = await claimNew(s.store, 1);
  const before = await total();
  for (const text of Object.values(UNSTORABLE)) {
    const bad = { codec: "json", data: text };
    const [run] = await s.store.runs.insert([newRun({ input: bad })]);
    expect(run!.outcome).toBe("refused");
    if (run!.outcome === "refused") expectNamed(run!.error, /input\.data$/);
    for (const [message, field] of [
      [signal(claim!.runId, text), "key"],
      [signal(claim!.runId, "k", { name: text }), "name"],
      [signal(claim!.runId, "k", { payload: bad }), "payload.data"],
      [signal(claim!.runId, "k", { sender: text }), "sender"],
    ] as const) {
      const [answer] = await s.store.inbox.send([message]);
      expect(answer!.outcome).toBe("refused");
      if (answer!.outcome === "refused") expectNamed(answer!.error, field);
    }
    for (const [entry, field] of [
      [{ kind: text, name: "n" }, "effects[0].entry.kind"],
      [{ kind: "k", name: text }, "effects[0].entry.name"],
      [{ kind: "k", name: "n", key: text }, "effects[0].entry.key"],
      [{ kind: "k", name: "n", payload: bad }, "effects[0].entry.payload.data"],
    ] as const) {
      const answer = await commitOne(s.store, commitOf(claim!, { kind: "append", entry }));
      expect(answer.outcome).toBe("refused");
      if (answer.outcome === "refused") expect(answer.error).toMatchObject({ code: "INVALID_INPUT", path: field });
    }
    for (const effect of [
      { kind: "complete", output: bad },
      { kind: "fail", as: "failed", reason: bad },
      { kind: "retry", delayMs: 0, error: bad },
    ] as const) {
      expect(await commitOne(s.store, commitOf(claim!, effect))).toMatchObject({
        outcome: "refused",
        error: { code: "INVALID_INPUT" },
      });
    }
    await expect(s.store.runs.cancel(claim!.runId, { by: text })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      path: "by",
    });
    await expect(s.store.runs.cancel(claim!.runId, { by: "me", reason: text })).rejects.toMatchObject({
      path: "reason",
    });
    const lease = { env: "test", key: text, owner: "me", token: randomUUID(), leaseMs: 1000 };
    await expect(s.store.leases.acquire(lease)).rejects.toMatchObject({ path: "key" });
    const node = { incarnation: randomUUID(), identity: "i", name: text, env: "test", stack: null, build: null };
    await expect(s.store.nodes.register(node)).rejects.toMatchObject({ path: "name" });
  }
  expect(await total()).toBe(before);
});

test("names outside their rule are refused with field and limit, odd ones inside it are just names", async () => {
  const before = await total();
  for (const name of BAD_NAMES) {
    for (const field of ["queue", "program", "env", "stack"] as const) {
      const [answer] = await s.store.runs.insert([newRun({ group: group("ok", { [field]: name }) })]);
      expect(answer!.outcome, `${field} ${JSON.stringify(name)}`).toBe("refused");
      if (answer!.outcome === "refused") expectNamed(answer!.error, new RegExp(`group\\.${field}$`));
    }
  }
  await expect(s.store.runs.groupIds([group("a b")])).rejects.toBeInstanceOf(HoldfastError);
  expect(await total()).toBe(before);
  for (const queue of ODD_NAMES) {
    const run = newRun({ group: group(queue) });
    expect(await s.store.runs.insert([run])).toEqual([{ outcome: "inserted", runId: run.id }]);
    expect((await claimFrom(s.store, group(queue))).map((claim) => claim.runId)).toEqual([run.id]);
    expect((await s.store.runs.get(run.id))!.group).toEqual(group(queue));
  }
});

test("keys: too long ones are refused with the limit, odd ones are distinct", async () => {
  const key = (text: string) =>
    ({ scope: "s", key: text, payloadHash: "h", lifetime: "live", onMismatch: "conflict" }) as const;
  const [long] = await s.store.runs.insert([newRun({ key: key(randomBytes(4000).toString("hex")) })]);
  expect(long).toMatchObject({
    outcome: "refused",
    error: { code: "LIMIT_EXCEEDED", path: expect.stringMatching(/key\.key$/), limit: 512 },
  });
  const odd = ["a", "A", "a ", " a", "%", "_", "\\", "'", '"', "é", "e\u0301", "__proto__", "👍", "NULL"];
  const answers = await s.store.runs.insert(odd.map((text) => newRun({ key: key(text) })));
  expect(answers.map((answer) => answer.outcome)).toEqual(odd.map(() => "inserted"));
});

test("numbers outside a column's range and ids of another form are refused", async () => {
  const bad: Partial<NewRun>[] = [
    { priority: 2 ** 31 },
    { priority: 0.5 },
    { priority: Number.NaN },
    { delayMs: -1 },
    { delayMs: Number.POSITIVE_INFINITY },
    { delayMs: Number.NaN },
    { crashLimit: 0 },
    { crashLimit: 2 ** 40 },
    { id: "1" },
    { id: "'; drop table runs; --" },
    { id: "00000000-0000-0000-0000-00000000000G" },
    { parentId: "x" },
  ];
  const answers = await s.store.runs.insert(bad.map((one) => newRun(one)));
  answers.forEach((answer, i) => {
    expect(answer.outcome).toBe("refused");
    if (answer.outcome === "refused") expectNamed(answer.error, new RegExp(Object.keys(bad[i]!)[0]!));
  });
});

test("one poisoned row among a hundred: its 99 neighbours are inserted, sent and committed", async () => {
  const poison = { codec: "json", data: "\0" };
  const runs = newRuns(100, { group: group("poison") });
  runs[50] = { ...runs[50]!, input: poison };
  const inserted = await s.store.runs.insert(runs);
  expect(inserted.map((one) => one.outcome)).toEqual(runs.map((_, i) => (i === 50 ? "refused" : "inserted")));

  const claimed = await claimFrom(s.store, group("poison"), { limit: 100 });
  expect(claimed).toHaveLength(99);
  const sent = await s.store.inbox.send(
    claimed.map(({ runId }, i) => signal(runId, "k", i === 20 ? { payload: poison } : {})),
  );
  expect(sent.map((one) => one.outcome)).toEqual(claimed.map((_, i) => (i === 20 ? "refused" : "accepted")));
  const steps = claimed.map((claim, i) => {
    const bad = { kind: "append", entry: { kind: "step", name: "n", payload: poison } } as const;
    return commitOf(claim, i === 70 ? bad : append("good"));
  });
  const answers = await s.store.runs.commit(steps);
  expect(answers.map((one) => one.outcome)).toEqual(claimed.map((_, i) => (i === 70 ? "refused" : "accepted")));
});

test("a row that only the database can reject is rejected alone, too", async () => {
  // A number that no bigint holds.
  const claimed = await claimNew(s.store, 10);
  const steps = claimed.map((claim, i) => {
    const seenInboxSeq = i === 4 ? 2 ** 70 : 0;
    return commitOf(claim, { kind: "park", wakeInMs: 1000, wakeAfter: 1, seenInboxSeq });
  });
  const answers = await s.store.runs.commit(steps);
  expect(answers.map((one) => one.outcome)).toEqual(claimed.map((_, i) => (i === 4 ? "refused" : "accepted")));
});

test("filters, pages and unknown ids: no text of the caller becomes SQL", async () => {
  for (const text of Object.values(STORABLE).filter((one) => one.length < 500)) {
    expect((await s.store.runs.list({ env: text }, { limit: 10 })).runs).toEqual([]);
    expect(await s.store.runs.count({ env: "test", stack: text, queue: text, program: text })).toEqual({});
  }
  const states = ["waiting'; drop table runs; --"] as unknown as ["waiting"];
  await expect(s.store.runs.list({ env: "test", states }, { limit: 10 })).rejects.toMatchObject({
    path: "filter.states",
  });
  await expect(s.store.runs.count({ env: "test", states })).rejects.toMatchObject({ path: "filter.states" });
  for (const limit of [0, -1, 1.5, 1001, Number.NaN]) {
    await expect(s.store.runs.list({ env: "test" }, { limit })).rejects.toMatchObject({ path: "page.limit" });
  }
});

test("an invalid id is treated like an unknown one", async () => {
  for (const id of ["", "x", "'; select 1; --", "a\0b"]) {
    expect(await s.store.runs.get(id)).toBeNull();
    expect(await s.store.journal.read(id)).toBeNull();
    expect(await s.store.inbox.unread(id)).toEqual([]);
    expect(await s.store.runs.cancel(id, { by: "me" })).toEqual({ outcome: "unknown" });
  }
});
