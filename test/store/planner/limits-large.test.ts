// Long lines and many keys: admission reads the few rows it judges, and no key is forgotten. Without statistics and with them.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Statement } from "../../../src/store/postgres/connection/dialect.js";
import { admitForRuns, admitKeys, nextLines } from "../../../src/store/postgres/limit/admit-runs.js";
import { group, scene } from "../scene.js";
import { withoutAutovacuum } from "./planner-tables.js";

const KEYS = 10_000;
const LONG = 20_000;
const MAX = 5;
const s = scene();
let client: pg.Client;

/** In each of many lines one run is admitted and one waits; in one line very many wait behind a few. */
beforeAll(async () => {
  const [groupId] = await s.store.runs.groupIds([group()]);
  client = new pg.Client({ connectionString: s.url });
  await client.connect();
  await client.query(`set search_path = ${s.schema}`);
  await withoutAutovacuum(s.pool, s.schema);
  const fill = (kind: string, count: number, state: string, place: string, key: string, max: number) =>
    client.query(`with new as (
        insert into runs (id, claim_group, priority, state, available_at, crash_limit, created_at, limited)
        select md5('${kind}' || n)::uuid, ${groupId}, 0, '${state}', now() - interval '1 h', 5, now(), true
        from generate_series(1, ${count}) n
      )
      insert into run_limits (run_id, stage, key, kind, max, state, priority, available_at)
      select md5('${kind}' || n)::uuid, 1, 'test/' || ${key}, 'slots', ${max}, '${place}', 0, now() - interval '1 h'
      from generate_series(1, ${count}) n`);
  await fill("one", KEYS, "waiting", "granted", "'k' || n", 1);
  await fill("next", KEYS, "held", "waits", "'k' || n", 1);
  await fill("big", MAX, "waiting", "granted", "'big'", MAX);
  await fill("line", LONG, "held", "waits", "'big'", MAX);
}, 60_000);
afterAll(() => client.end());

const idOf = async (kind: string, n: number) =>
  (await client.query<{ id: string }>("select md5($1)::uuid as id", [`${kind}${n}`])).rows[0]!.id;

/** Executes the statement, rolls it back, and returns the rows of runs and run_limits that it read. */
async function rowsRead(statement: Statement, values: unknown[], before?: () => Promise<unknown>) {
  await client.query("begin");
  try {
    await before?.();
    const read = async () =>
      (
        await client.query<{ n: number }>(`select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n
          from pg_stat_xact_user_tables where relname in ('runs', 'run_limits') and schemaname = '${s.schema}'`)
      ).rows[0]!.n;
    const from = await read();
    const { rows } = await client.query(s.text(statement), values);
    return { read: (await read()) - from, answered: rows.length };
  } finally {
    await client.query("rollback");
  }
}

describe.each([false, true])("analyzed: %s", (analyzed) => {
  beforeAll(async () => {
    if (analyzed) await client.query("analyze runs, run_limits, limit_rates");
  });

  test("a full line of 20,000 costs a read of its head and of the admitted runs", async () => {
    const { read, answered } = await rowsRead(admitForRuns, [[await idOf("line", 7)]]);
    expect(answered).toBe(0);
    expect(read).toBeLessThan(50);
  });

  test("a free place in a line of 20,000 is assigned by reading a few rows", async () => {
    const ended = await idOf("big", 1);
    const { read, answered } = await rowsRead(admitForRuns, [[ended]], () =>
      client.query("update runs set state = 'cancelled', ended_at = now() where id = $1", [ended]),
    );
    expect(answered).toBe(1);
    expect(read).toBeLessThan(100);
  });

  test("a window over lines reads what it looks at", async () => {
    const lines = await rowsRead(nextLines, [200, "test"]);
    expect(lines.answered).toBe(200);
    expect(lines.read).toBeLessThan(500);
    const keys = Array.from({ length: 200 }, (_, n) => `test/k${n + 1}`);
    const full = await rowsRead(admitKeys, [keys]);
    expect(full.answered).toBe(0);
    expect(full.read).toBeLessThan(1000);
    const ended = await Promise.all([1, 2, 3].map((n) => idOf("one", n)));
    const free = await rowsRead(admitKeys, [keys], () =>
      client.query("update runs set state = 'cancelled', ended_at = now() where id = any($1)", [ended]),
    );
    expect(free.answered).toBe(3);
    expect(free.read).toBeLessThan(1100);
  });
});

test("with 10,000 lines, one whose call was lost has its turn within one round of windows", async () => {
  const ended = await idOf("one", 4321);
  await client.query("update runs set state = 'cancelled', ended_at = now() where id = $1", [ended]);
  const next = await idOf("next", 4321);
  let looks = 0;
  while ((await s.store.runs.get(next))?.state === "held" && looks < 60) {
    await s.store.runs.admit({ env: "test", keys: 200 });
    looks++;
  }
  expect((await s.store.runs.get(next))?.state).toBe("waiting");
  expect(looks).toBeLessThanOrEqual(52);
}, 60_000);
