// Claiming timers is their most frequent operation: it writes no index entry, however many are adjacent.

import { randomUUID } from "node:crypto";
import { expect, test, vi } from "vitest";
import { group, scene } from "../scene.js";

const s = scene();
const of = group("m");
const COUNT = 1_000;

test("claiming adjacent timers leaves their entries in every index unchanged", async () => {
  const [groupId] = await s.store.runs.groupIds([of]);
  await s.rows(
    `insert into {s}.timers (id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at)
     select gen_random_uuid(), $2, $1, 1, 'after', 'the name of a delay', 'json', '{"state":"waiting"}', at, at
     from generate_series(1, ${COUNT}) n, lateral (select clock_timestamp() - interval '1 second' as at) x`,
    [groupId, randomUUID()],
  );
  const store = s.open();
  const claim = { groups: [of], limit: 250, leaseMs: 60_000, mostAttempts: 10 };
  for (let n = 0; n < COUNT / 250; n++) expect((await store.machines.claimTimers(claim)).timers).toHaveLength(250);
  // What a connection has counted is known when it is closed.
  await store.close();
  const counted = `select n_tup_upd::int as taken, n_tup_hot_upd::int as hot from pg_stat_user_tables
    where relid = '{s}.timers'::regclass`;
  await vi.waitFor(async () => expect(await s.rows(counted)).toEqual([{ taken: COUNT, hot: COUNT }]), 10_000);
});
