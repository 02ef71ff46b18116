// Settings of the database that are not ours to choose: time zones, date styles, and sequences that ran far.

import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import {
  append,
  claimFrom,
  claimNew,
  commitOf,
  commitOne,
  complete,
  group,
  newRun,
  park,
  scene,
  signal,
} from "./scene.js";

const s = scene();
const role = `odd_${randomUUID().slice(0, 8)}`;

afterAll(async () => {
  await s.rows(`drop owned by ${role}`).catch(() => {});
  await s.rows(`drop role if exists ${role}`);
});

test("an odd time zone, date style and float format of the role change no result", async () => {
  await s.rows(`create role ${role} login superuser password 'odd'`);
  const settings = [
    "timezone = 'Pacific/Chatham'",
    "datestyle = 'German, DMY'",
    "intervalstyle = 'sql_standard'",
    "extra_float_digits = 0",
    "bytea_output = 'escape'",
  ];
  for (const setting of settings) await s.rows(`alter role ${role} set ${setting}`);
  const url = new URL(s.url);
  url.username = role;
  url.password = "odd";
  const odd = s.open({ url: url.href });

  const from = group("zones");
  const before = Date.now() - 5000;
  for (const [writer, reader] of [
    [odd, s.store],
    [s.store, odd],
  ] as const) {
    const run = newRun({ group: from });
    await writer.runs.insert([run, newRun({ group: from, delayMs: 3_600_000 })]);
    const [claim] = await claimFrom(reader, from, { limit: 5 });
    expect(claim!.runId).toBe(run.id);
    await commitOne(writer, commitOf(claim!, append("x"), park({ wakeInMs: 90_000 })));
    const [here, there] = [await writer.runs.get(run.id), await reader.runs.get(run.id)];
    expect(here).toEqual(there);
    expect(here!.createdAt).toBeGreaterThan(before);
    expect(here!.wakeAt! - here!.createdAt).toBeGreaterThanOrEqual(90_000);
    expect(here!.wakeAt! - here!.createdAt).toBeLessThan(95_000);
    expect(await writer.journal.read(run.id)).toEqual(await reader.journal.read(run.id));
    const lease = { env: "test", key: randomUUID(), owner: "o", token: randomUUID(), leaseMs: 60_000 };
    await writer.leases.acquire(lease);
    expect(await reader.leases.get("test", lease.key)).toEqual(await writer.leases.get("test", lease.key));
    expect(await reader.leases.acquire({ ...lease, token: randomUUID() })).toMatchObject({ outcome: "busy" });
  }
});

test("the inbox's numbers beyond 2^31 and beyond 2^53 keep messages in order", async () => {
  const [{ sequence }] = (await s.rows<{ sequence: string }>(
    "select coalesce(pg_get_serial_sequence('{s}.inbox', 'id'), '{s}.inbox_id') as sequence",
  )) as [{ sequence: string }];
  for (const start of ["2147483646", "9007199254740990"]) {
    await s.rows(`alter sequence ${sequence} restart ${start}`);
    const [claim] = await claimNew(s.store, 1);
    const keys = Array.from({ length: 8 }, (_, i) => `k${7 - i}`);
    for (const key of keys) await s.store.inbox.send([signal(claim!.runId, key)]);
    expect((await s.store.inbox.unread(claim!.runId)).map((message) => message.key)).toEqual(keys);
    const takes = keys.map((messageKey) => ({ kind: "take", messageKey }) as const);
    expect(await commitOne(s.store, commitOf(claim!, ...takes, complete))).toMatchObject({
      outcome: "accepted",
      seq: 10,
    });
  }
});

test("the last number of claim groups works", async () => {
  const from = group("late-group");
  await s.rows(
    "insert into {s}.claim_groups (env, stack, queue, program, version, id) values ($1, '', $2, $3, '', 2147483647)",
    [from.env, from.queue, from.program],
  );
  const run = newRun({ group: from });
  await s.store.runs.insert([run]);
  expect(await s.store.runs.groupIds([from])).toEqual([2_147_483_647]);
  expect((await claimFrom(s.store, from)).map((claim) => claim.runId)).toEqual([run.id]);
});

test("epochs and sequences of a run beyond 2^31 stay exact", async () => {
  const from = group("old-run");
  const run = newRun({ group: from });
  await s.store.runs.insert([run]);
  await s.rows("update {s}.runs set epoch = 4294967296, seq = 4294967297, base_seq = 4294967296 where id = $1", [
    run.id,
  ]);
  await s.rows("update {s}.journal set seq = 4294967297 where run_id = $1", [run.id]);
  const [claim] = await claimFrom(s.store, from);
  expect(claim).toMatchObject({ epoch: 4_294_967_297, seq: 4_294_967_297, baseSeq: 4_294_967_296, input: run.input });
  expect(await commitOne(s.store, commitOf(claim!, append("x"), complete))).toMatchObject({
    outcome: "accepted",
    seq: 4_294_967_299,
  });
  expect((await s.store.journal.read(run.id))!.entries.map((entry) => entry.seq)).toEqual([
    4_294_967_297, 4_294_967_298, 4_294_967_299,
  ]);
});
