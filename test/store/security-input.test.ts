// Hostile input at the store's edge: refused with a typed error that names the field before anything is written, or
// stored and read back exactly. One bad row never fails its neighbours.

import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Effect } from "../../src/kernel/effect.js";
import { HoldfastError, InvalidInput } from "../../src/kernel/error.js";
import type { NewRun } from "../../src/kernel/new-run.js";
import type { NewMessage } from "../../src/store/contract/inbox.js";
import type { Commit } from "../../src/store/contract/runs.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
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

test("what only the database finds out is refused alone, too", async () => {
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

test("an id that is no id is answered like an unknown one", async () => {
  for (const id of ["", "x", "'; select 1; --", "a\0b"]) {
    expect(await s.store.runs.get(id)).toBeNull();
    expect(await s.store.journal.read(id)).toBeNull();
    expect(await s.store.inbox.unread(id)).toEqual([]);
    expect(await s.store.runs.cancel(id, { by: "me" })).toEqual({ outcome: "unknown" });
  }
});

/** Values of other types than the field's; each field is given every one that is not its own. */
const ALIENS: Record<string, unknown> = {
  undefined: undefined,
  null: null,
  "a number": 5,
  NaN: Number.NaN,
  "a text": "text",
  true: true,
  "a bigint": 5n,
  "a symbol": Symbol("s"),
  "a function": () => "text",
  "an object": {},
  "a bare object": Object.create(null),
  "a list": [],
  "a list of an id": [randomUUID()],
};

/** Which of them a field may be: its own type, and what stands for "not given". */
const MAY_BE: Record<string, readonly string[]> = {
  text: ["a text"],
  "text or none": ["a text", "null", "undefined"],
  number: ["a number"],
  "number or none": ["a number", "null"],
  payload: [],
  "payload or none": ["null", "undefined"],
  id: [],
  "id or none": ["null", "undefined"],
  group: [],
  "key or none": ["undefined"],
  word: [],
};

const aliensOf = (type: string) => Object.entries(ALIENS).filter(([name]) => !MAY_BE[type]!.includes(name));

/** A copy with another value at a path. */
function having(object: object, path: string, value: unknown): never {
  const [first, ...rest] = path.split(".");
  const inner = (object as Record<string, object>)[first!]!;
  const changed = rest.length > 0 ? having(inner, rest.join("."), value) : value;
  return (
    Array.isArray(object)
      ? object.map((item, i) => (i === Number(first) ? changed : item))
      : { ...object, [first!]: changed }
  ) as never;
}

const GROUP_FIELDS = { env: "text", stack: "text or none", queue: "text", program: "text", version: "text or none" };
const RUN_FIELDS = {
  id: "id",
  group: "group",
  ...Object.fromEntries(Object.entries(GROUP_FIELDS).map(([name, type]) => [`group.${name}`, type])),
  priority: "number",
  delayMs: "number",
  crashLimit: "number",
  input: "payload",
  "input.codec": "text",
  "input.data": "text",
  parentId: "id or none",
};
const KEY_FIELDS = {
  key: "key or none",
  "key.scope": "text",
  "key.key": "text",
  "key.payloadHash": "text",
  "key.lifetime": "word",
  "key.lifetime.forMs": "number",
  "key.onMismatch": "word",
};
const MESSAGE_FIELDS = {
  runId: "id",
  key: "text",
  messageId: "id",
  kind: "word",
  name: "text",
  payload: "payload or none",
  "payload.codec": "text",
  "payload.data": "text",
  sender: "text or none",
};

const KEY = { scope: "s", key: "k", payloadHash: "h", lifetime: { forMs: 1000 }, onMismatch: "conflict" } as const;
const PAYLOAD = { codec: "json", data: "1" };

/** One effect of each kind, and the types of its fields. */
const EFFECTS: readonly { readonly effect: Effect; readonly fields: Record<string, string> }[] = [
  {
    effect: { kind: "append", entry: { kind: "step", name: "n", key: "k", payload: PAYLOAD } },
    fields: {
      kind: "word",
      entry: "group",
      "entry.kind": "text",
      "entry.name": "text",
      "entry.key": "text or none",
      "entry.payload": "payload or none",
      "entry.payload.codec": "text",
      "entry.payload.data": "text",
    },
  },
  { effect: { kind: "take", messageKey: "signal:1" }, fields: { messageKey: "text" } },
  {
    effect: { kind: "enqueue", name: "c", run: newRun() },
    fields: {
      name: "text",
      run: "group",
      ...Object.fromEntries(Object.entries(RUN_FIELDS).map(([name, type]) => [`run.${name}`, type])),
    },
  },
  { effect: { kind: "complete", output: PAYLOAD }, fields: { output: "payload", "output.data": "text" } },
  { effect: { kind: "fail", as: "failed", reason: PAYLOAD }, fields: { as: "word", reason: "payload" } },
  { effect: { kind: "retry", delayMs: 1, error: PAYLOAD }, fields: { delayMs: "number", error: "payload" } },
  {
    effect: { kind: "park", wakeInMs: 1, wakeAfter: 1, seenInboxSeq: 0 },
    fields: { wakeInMs: "number or none", wakeAfter: "number", seenInboxSeq: "number" },
  },
];

describe.each([
  ["PostgreSQL", () => s.store as Store],
  ["memory", () => memoryStore()],
] as const)("wrong types are refused alone, %s:", (_, open) => {
  const refusedAlone = (answers: readonly { outcome: string; error?: unknown }[], good: string, what: string) => {
    expect(
      answers.map(({ outcome }) => outcome),
      what,
    ).toEqual([good, "refused", good]);
    expect(answers[1]!.error, what).toBeInstanceOf(InvalidInput);
  };

  test("runs", async () => {
    const store = open();
    for (const [path, type] of Object.entries({ ...RUN_FIELDS, ...KEY_FIELDS })) {
      for (const [name, alien] of aliensOf(type)) {
        const run = newRun(path.startsWith("key") ? { key: KEY } : {});
        const [before, after] = newRuns(2);
        const answers = await store.runs.insert([before!, having(run, path, alien), after!]);
        refusedAlone(answers, "inserted", `${path}: ${name}`);
        const runId = path === "id" ? (typeof alien === "string" ? alien : "") : run.id;
        expect(answers[1]!.runId, `${path}: ${name}`).toBe(runId);
      }
    }
    for (const [name, alien] of aliensOf("group")) {
      const [before, after] = newRuns(2);
      refusedAlone(await store.runs.insert([before!, alien as NewRun, after!]), "inserted", `a run: ${name}`);
      await expect(store.runs.insert([alien as NewRun]), name).resolves.toMatchObject([
        { outcome: "refused", runId: "" },
      ]);
    }
  });

  test("messages", async () => {
    const store = open();
    const [run] = newRuns(1, { delayMs: 60_000 });
    await store.runs.insert([run!]);
    const good = () => signal(run!.id, `signal:${randomUUID()}`, { payload: PAYLOAD, sender: "me" });
    for (const [path, type] of Object.entries(MESSAGE_FIELDS)) {
      for (const [name, alien] of aliensOf(type)) {
        const answers = await store.inbox.send([good(), having(good(), path, alien), good()]);
        refusedAlone(answers, "accepted", `${path}: ${name}`);
      }
    }
    for (const [name, alien] of aliensOf("group")) {
      refusedAlone(await store.inbox.send([good(), alien as NewMessage, good()]), "accepted", `a message: ${name}`);
    }
    const bare = having(having(good(), "payload", undefined), "sender", undefined) as NewMessage;
    expect(await store.inbox.send([bare])).toEqual([{ outcome: "accepted" }]);
    expect((await store.inbox.unread(run!.id)).at(-1)).toMatchObject({ payload: null, sender: null });
  });

  test("commits", async () => {
    const store = open();
    const [first, odd, last] = await claimNew(store, 3);
    let seq = 1;
    const send = async (commit: unknown, what: string) => {
      const step = (claim: typeof first) => ({ claim: claim!, expectedSeq: seq, effects: [append("a")] });
      const answers = await store.runs.commit([step(first), commit as Commit, step(last)]);
      seq++;
      refusedAlone(answers, "accepted", what);
    };
    for (const { effect, fields } of EFFECTS) {
      for (const [path, type] of Object.entries(fields)) {
        for (const [name, alien] of aliensOf(type)) {
          const commit = commitOf(odd!, having(effect, path, alien));
          await send(commit, `${effect.kind}.${path}: ${name}`);
        }
      }
    }
    for (const [name, alien] of aliensOf("group")) {
      await send(alien, `a commit: ${name}`);
      await send({ ...commitOf(odd!, append("a")), effects: alien }, `effects: ${name}`);
      await send(commitOf(odd!, append("a"), alien as Effect), `an effect: ${name}`);
      await send({ ...commitOf(odd!, append("a")), claim: alien }, `a claim: ${name}`);
    }
    for (const [path, type] of Object.entries({ runId: "id", token: "id", epoch: "number" })) {
      for (const [name, alien] of aliensOf(type)) {
        await send(having(commitOf(odd!, append("a")), `claim.${path}`, alien), `claim.${path}: ${name}`);
      }
    }
    for (const [name, alien] of aliensOf("number")) {
      await send({ ...commitOf(odd!, append("a")), expectedSeq: alien }, `expectedSeq: ${name}`);
    }
    expect((await store.runs.get(odd!.runId))!.seq).toBe(1);
  }, 60_000);

  test("what stands alone: cancel, leases, nodes, ids", async () => {
    const store = open();
    const [run] = newRuns(1);
    await store.runs.insert([run!]);
    const invalid = { code: "INVALID_INPUT" };
    for (const [name, alien] of aliensOf("text or none")) {
      const reason = alien as string;
      await expect(store.runs.cancel(run!.id, { by: "me", reason }), name).rejects.toMatchObject(invalid);
    }
    for (const [name, alien] of aliensOf("text")) {
      const text = alien as string;
      await expect(store.runs.cancel(run!.id, { by: text }), name).rejects.toMatchObject(invalid);
      const lease = { env: "test", key: "k", owner: "me", token: randomUUID(), leaseMs: 1000 };
      for (const field of ["env", "key", "owner"]) {
        await expect(store.leases.acquire(having(lease, field, text)), name).rejects.toMatchObject(invalid);
      }
      const node = { incarnation: randomUUID(), identity: "i", name: "n", env: "test", stack: null, build: null };
      for (const field of ["identity", "name", "env"]) {
        await expect(store.nodes.register(having(node, field, text)), name).rejects.toMatchObject(invalid);
      }
      await expect(store.runs.list({ env: text }, { limit: 1 }), name).rejects.toMatchObject(invalid);
      await expect(store.runs.count({ env: text }), name).rejects.toMatchObject(invalid);
    }
    for (const [name, alien] of aliensOf("id")) {
      const id = alien as string;
      expect(await store.runs.get(id), name).toBeNull();
      expect(await store.journal.read(id), name).toBeNull();
      expect(await store.inbox.unread(id), name).toEqual([]);
      expect(await store.runs.cancel(id, { by: "me" }), name).toEqual({ outcome: "unknown" });
      expect(await store.nodes.heartbeat(id), name).toBe(false);
      expect(await store.leases.owns({ env: "test", key: "k", epoch: 1, token: id }), name).toBe(false);
      expect(await store.runs.renew([alien as never], 1000), name).toEqual([{ outcome: "lost" }]);
    }
    expect((await store.runs.get(run!.id))!.state).toBe("waiting");
  });
});
