// Values of the wrong type at the store's edge, on both stores: refused alone, with a typed error, before anything is written.

import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { InvalidInput } from "../../src/kernel/error.js";
import type { Effect } from "../../src/kernel/run/effect.js";
import type { NewRun } from "../../src/kernel/run/new-run.js";
import type { NewMessage } from "../../src/store/contract/inbox/inbox.js";
import type { Commit } from "../../src/store/contract/run/runs.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { append, claimNew, commitOf, newRun, newRuns, scene, signal } from "./scene.js";

const s = scene();

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

/** Which of them a field may be: its own type, and what means "not given". */
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

  test("single calls: cancel, leases, nodes, ids", async () => {
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
