// In a caller's own transaction the store only inserts: all or nothing with it, and no other session waits for it.

import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { NewRun } from "../../../src/kernel/run/new-run.js";
import {
  accept,
  append,
  claimFrom,
  claimNew,
  commitOf,
  complete,
  group,
  newRun,
  park,
  scene,
  signal,
  stateOf,
} from "../scene.js";

const s = scene();
const other = s.open();
let tx: pg.Client;

beforeEach(async () => {
  tx = new pg.Client({ connectionString: s.url });
  await tx.connect();
  await tx.query("begin");
});
afterEach(async () => {
  await tx.end();
});

function keyed(key: string, more: Partial<NewRun> = {}): NewRun {
  const id = { scope: "tx", key, payloadHash: "h", lifetime: "live", onMismatch: "conflict" } as const;
  return newRun({ key: id, ...more });
}

const counts = async (ids: string[]) => {
  const [row] = await s.rows<Record<string, number>>(
    `select (select count(*)::int from {s}.runs where id = any($1)) as runs,
      (select count(*)::int from {s}.journal where run_id = any($1)) as journal,
      (select count(*)::int from {s}.run_keys where run_id = any($1)) as keys,
      (select count(*)::int from {s}.inbox where run_id = any($1)) as inbox`,
    [ids],
  );
  return row;
};

test("rolled back: no run, no key, no message; the key is free for the next", async () => {
  const [plain, withKey] = [newRun(), keyed("gone")];
  expect(await s.store.runs.insert([plain, withKey], { tx })).toEqual([
    { outcome: "inserted", runId: plain.id },
    { outcome: "inserted", runId: withKey.id },
  ]);
  expect(await s.store.inbox.send([signal(plain.id)], { tx })).toEqual([{ outcome: "accepted" }]);
  await tx.query("rollback");
  expect(await counts([plain.id, withKey.id])).toEqual({ runs: 0, journal: 0, keys: 0, inbox: 0 });
  const next = keyed("gone");
  expect(await s.store.runs.insert([next])).toEqual([{ outcome: "inserted", runId: next.id }]);
});

test("committed: everything exists, and is claimable", async () => {
  const from = group("tx-committed");
  const [plain, withKey] = [newRun({ group: from }), keyed("kept", { group: from })];
  await s.store.runs.insert([plain, withKey], { tx });
  await s.store.inbox.send([signal(plain.id)], { tx });
  expect(await s.store.runs.get(plain.id)).toBeNull();
  expect(await claimFrom(other, from, { limit: 5 })).toEqual([]);
  await tx.query("commit");
  expect(await counts([plain.id, withKey.id])).toEqual({ runs: 2, journal: 2, keys: 1, inbox: 1 });
  expect(await claimFrom(other, from, { limit: 5 })).toHaveLength(2);
});

test("a taken key in a caller's transaction is an answer, and the transaction continues", async () => {
  const holder = keyed("taken");
  await s.store.runs.insert([holder]);
  const same = keyed("taken");
  const differs = { ...keyed("taken"), key: { ...same.key!, payloadHash: "x" } };
  expect(await s.store.runs.insert([same, differs, keyed("free")], { tx })).toMatchObject([
    { outcome: "existing", runId: holder.id },
    { outcome: "conflict", runId: holder.id },
    { outcome: "inserted" },
  ]);
  expect((await tx.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  await tx.query("commit");
});

test("a bad run in a caller's transaction is refused without an SQL error", async () => {
  const good = newRun();
  const bad = newRun({ input: { codec: "json", data: "a\0b" } });
  // Too long for a btree entry, and it does not compress.
  const long = keyed(randomBytes(4000).toString("hex"));
  const answers = await s.store.runs.insert([bad, good, long], { tx });
  expect(answers.map((answer) => answer.outcome)).toEqual(["refused", "inserted", "refused"]);
  await tx.query("commit");
  expect(await counts([good.id])).toMatchObject({ runs: 1 });
});

test("a key that expires within the transaction that took it does not hang the next insert", async () => {
  const lifetime = { forMs: 0 };
  const [first, second] = [keyed("short"), keyed("short")].map((run) => ({ ...run, key: { ...run.key!, lifetime } }));
  await s.store.runs.insert([first!], { tx });
  await tx.query("set statement_timeout = 3000");
  const hung = AbortSignal.timeout(3000);
  // Stops the endless repetition, so that the test fails instead of hanging.
  const watched = {
    query: (text: string, values: unknown[]) => {
      hung.throwIfAborted();
      return tx.query(text, values);
    },
  };
  expect(await s.store.runs.insert([second!], { tx: watched })).toHaveLength(1);
});

test("the caller's transaction holds no lock on a run that was there before", async () => {
  const [claim] = await claimNew(s.store, 1);
  const waiting = newRun({ delayMs: 60_000 });
  await s.store.runs.insert([waiting, keyed("before")]);
  const child = newRun({ parentId: claim!.runId });
  await s.store.runs.insert([child, keyed("before"), waiting], { tx });
  await s.store.inbox.send([signal(claim!.runId), signal(waiting.id)], { tx });
  const locked = await s.rows<{ mode: string }>(
    `select distinct l.mode from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = 'runs' and l.pid = $2 and l.mode not in ('AccessShareLock', 'RowExclusiveLock')`,
    [s.schema, await pidOf(tx)],
  );
  expect(locked).toEqual([]);
  // The proof: another session locks every one of those rows at once, and waits for none of them.
  const rows = await s.rows<{ id: string }>("select id from {s}.runs where id = any($1) for update nowait", [
    [claim!.runId, waiting.id],
  ]);
  expect(rows).toHaveLength(2);
  await tx.query("rollback");
});

test("a caller that keeps its transaction open blocks no claim, commit, renewal or reclaim", async () => {
  const from = group("busy-caller");
  const [holds, parks, expires] = [
    (await claimNew(s.store, 1))[0]!,
    (await claimNew(s.store, 1))[0]!,
    (await claimNew(s.store, 1, { leaseMs: 0 }))[0]!,
  ];
  await s.store.runs.insert([newRun({ group: from })]);
  await accept(s.store, commitOf(parks, park()));
  await s.store.runs.insert([newRun({ group: from, parentId: holds.runId }), keyed("held-open", { group: from })], {
    tx,
  });
  await s.store.inbox.send(
    [holds, parks, expires].map((claim) => signal(claim.runId)),
    { tx },
  );

  const startedAt = performance.now();
  expect(await claimFrom(other, from, { limit: 5 })).toHaveLength(1);
  expect(await other.runs.renew([holds], 60_000)).toMatchObject([{ outcome: "held" }]);
  expect(await other.runs.reclaimExpired({ env: "test", limit: 100 })).toMatchObject([{ runId: expires.runId }]);
  await accept(other, commitOf(holds, append("goes on")));
  expect(await other.inbox.send([signal(parks.runId, "another")])).toEqual([{ outcome: "accepted" }]);
  expect(await stateOf(other, parks.runId)).toBe("waiting");
  expect(await other.runs.cancel(parks.runId, { by: "me" })).toEqual({ outcome: "cancelled" });
  await accept(other, commitOf({ ...holds, seq: 2 }, complete));
  expect(performance.now() - startedAt).toBeLessThan(1000);
  await tx.query("commit");
});

test("a message sent in a transaction wakes its parked run once it is committed and housekeeping runs", async () => {
  const [claim] = await claimNew(s.store, 1);
  await accept(s.store, commitOf(claim!, park()));
  await s.store.inbox.send([signal(claim!.runId)], { tx });
  await s.store.runs.wakeParked({ limit: 100 });
  expect(await stateOf(s.store, claim!.runId)).toBe("parked");
  await tx.query("commit");
  await s.store.runs.wakeParked({ limit: 100 });
  expect(await stateOf(s.store, claim!.runId)).toBe("waiting");
});

async function pidOf(client: pg.Client): Promise<number> {
  return (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]!.pid;
}
