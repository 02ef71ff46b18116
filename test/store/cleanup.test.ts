// Clean-up on a real database: bounded tables, epochs that never fall, rows that others have locked, and plans that read by index.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Effect } from "../../src/kernel/run/effect.js";
import { type CleanPart, type CleanRound, KEPT_NODES } from "../../src/store/contract/cleanup.js";
import { cleanAudit, cleanClaims, cleanKeys, cleanRuns } from "../../src/store/postgres/clean-retained.js";
import {
  cleanDebounces,
  cleanGenerations,
  cleanKept,
  cleanLeases,
  cleanNodes,
  cleanRates,
  takeTurn,
} from "../../src/store/postgres/clean-up.js";
import type { Statement } from "../../src/store/postgres/connection/dialect.js";
import { pruneInstances } from "../../src/store/postgres/machine/machines.js";
import { pruneRuns } from "../../src/store/postgres/run/retain-runs.js";
import { explain } from "./planner/planner-explain.js";
import { withoutAutovacuum } from "./planner/planner-tables.js";
import { accept, append, claimFrom, commitOf, group, json, newRuns, scene, signal } from "./scene.js";

const s = scene();
const DAY_MS = 86_400_000;
const STATEMENTS: Readonly<Record<CleanPart, Statement>> = {
  generations: cleanGenerations,
  leases: cleanLeases,
  nodes: cleanNodes,
  rates: cleanRates,
  debounces: cleanDebounces,
  kept: cleanKept,
  instances: pruneInstances,
  claims: cleanClaims,
  audit: cleanAudit,
  keys: cleanKeys,
  runs: cleanRuns,
};
const opened: pg.Client[] = [];
// From the first test on: it would count what one of them leaves, such as an inbox in which all messages are of one run.
beforeAll(() => withoutAutovacuum(s.pool, s.schema));
afterAll(async () => {
  await Promise.all(opened.map((client) => client.end()));
});

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: s.url });
  opened.push(client);
  await client.connect();
  return client;
}

/** As the engine does: until nothing is left. Returns how many rows were removed, and in how many batches. */
async function clean(part: CleanPart, more: Partial<CleanRound> = {}) {
  let [removed, batches] = [0, 0];
  for (;;) {
    const cleaned = await s.store.cleanUp({ part, env: "test", everyMs: 0, keepMs: 0, limit: 500, ...more });
    removed += cleaned!.removed;
    batches++;
    if (!cleaned!.more) return { removed, batches };
  }
}

const count = async (table: string, where = "true") =>
  Number((await s.rows<{ n: string }>(`select count(*) as n from {s}.${table} where ${where}`))[0]!.n);

const continueAsNew = (input: number): Effect => ({ kind: "continue", input: json(input), reopen: [] });

/** A run that has begun this many generations, each with 20 entries and a message. */
async function generations(many: number): Promise<string> {
  const own = group(`q-${randomUUID()}`);
  const [run] = newRuns(1, { group: own });
  await s.store.runs.insert([run!]);
  for (let n = 0; n < many; n++) {
    const messageId = randomUUID();
    const key = `signal:${messageId}`;
    await s.store.inbox.send([signal(run!.id, key, { messageId })]);
    const [claim] = await claimFrom(s.store, own);
    const steps = Array.from({ length: 20 }, (_, i) => append(`step-${i}`));
    await accept(s.store, commitOf(claim!, ...steps, { kind: "take", messageKey: key }, continueAsNew(n)));
  }
  return run!.id;
}

test("300 generations of a live run leave one entry", async () => {
  const id = await generations(300);
  expect(await count("journal", `run_id = '${id}'`)).toBe(300 * 22 + 1);
  const { removed, batches } = await clean("generations");
  expect(removed).toBe(300 * 22 + 300);
  expect(batches).toBeGreaterThan(12);
  expect(await count("journal", `run_id = '${id}'`)).toBe(1);
  expect(await count("inbox", `run_id = '${id}'`)).toBe(0);
  expect((await s.store.journal.read(id))?.entries).toMatchObject([{ kind: "start", payload: json(299) }]);
}, 60_000);

test("2,000 process starts leave at most 1,000 dead nodes, and none after a day", async () => {
  const env = "many-starts";
  await s.rows(`insert into {s}.nodes (incarnation, identity, name, env, started_at, seen_at, stopped_at, serves, claims, mode, overrides)
    select gen_random_uuid(), 'i', 'n', '${env}', clock_timestamp() - n * interval '1 second', clock_timestamp() - n * interval '1 second',
      case when n % 3 > 0 then clock_timestamp() - n * interval '1 second' end, '{}', '{}', 'full', '{}'
    from generate_series(1, 2000) n`);
  const live = { incarnation: randomUUID(), identity: "live", name: "live", env, stack: null, build: null };
  await s.store.nodes.register(live);
  await clean("nodes", { env, keepMs: DAY_MS });
  expect(await count("nodes", `env = '${env}'`)).toBeLessThanOrEqual(1_001);
  await s.rows(`update {s}.nodes set started_at = started_at - interval '2 days', seen_at = seen_at - interval '2 days',
    stopped_at = stopped_at - interval '2 days' where env = '${env}' and identity <> 'live'`);
  await clean("nodes", { env, keepMs: DAY_MS });
  const left = await s.store.nodes.list({ env, stopped: true });
  expect(left.map(({ incarnation }) => incarnation)).toEqual([live.incarnation]);
});

test("leases that were never acquired again are removed, a page of keys at a time", async () => {
  const env = "many-leases";
  await s.rows(`insert into {s}.leases (env, key, state, owner, epoch, token, attempt, lease_until, acquired_at, finished_at)
    select '${env}', 'key-' || n, case when n % 2 = 0 then 'done' else 'claimed' end, 'o', n, gen_random_uuid(), 1,
      clock_timestamp() - interval '2 days', clock_timestamp() - interval '3 days',
      case when n % 2 = 0 then clock_timestamp() - interval '2 days' end
    from generate_series(1, 2000) n`);
  const held = { env, key: "key-7", owner: "me", token: randomUUID(), leaseMs: 60_000 };
  expect(await s.store.leases.acquire(held)).toMatchObject({ outcome: "stolen", lease: { epoch: 8 } });
  expect(await clean("leases", { env, keepMs: DAY_MS })).toEqual({ removed: 1_999, batches: 5 });
  expect(await s.store.leases.get(env, "key-7")).toMatchObject({ state: "claimed", epoch: 8 });
  const back = { env, key: "key-1999", owner: "me", token: randomUUID(), leaseMs: 60_000 };
  expect(await s.store.leases.acquire(back)).toMatchObject({ outcome: "acquired", lease: { epoch: 2_001 } });
});

describe("an acquire during the removal", () => {
  test("waits for it and begins above the epoch that was removed", async () => {
    const env = `race-${randomUUID()}`;
    const request = { env, key: "k", owner: "me", leaseMs: 1 };
    for (let n = 0; n < 3; n++) await s.store.leases.acquire({ ...request, token: randomUUID() }).then(() => pause(5));
    await s.rows(`update {s}.leases set epoch = 50000 where env = '${env}'`);
    await s.store.cleanUp({ part: "leases", env, everyMs: 0, keepMs: DAY_MS, limit: 10 });
    const client = await connect();
    await client.query("begin");
    const cleaned = await client.query(s.text(cleanLeases), [env, 0, 10]);
    expect(cleaned.rows).toEqual([{ removed: 1, more: false }]);
    const acquiring = s.store.leases.acquire({ ...request, token: randomUUID() });
    await pause(100);
    await client.query("commit");
    expect(await acquiring).toMatchObject({ outcome: "acquired", lease: { epoch: 50_001 } });
  });

  test("of two envs at once never lowers the floor", async () => {
    const envs = [`floor-a-${randomUUID()}`, `floor-b-${randomUUID()}`];
    for (const [i, env] of envs.entries()) {
      await s.store.leases.acquire({ env, key: "k", owner: "me", leaseMs: 1, token: randomUUID() });
      await s.rows(`update {s}.leases set epoch = ${80_000 - i * 10_000} where env = '${env}'`);
      await s.store.cleanUp({ part: "leases", env, everyMs: 0, keepMs: DAY_MS, limit: 10 });
    }
    await pause(5);
    const [a, b] = [await connect(), await connect()];
    await a.query("begin");
    await a.query(s.text(cleanLeases), [envs[0], 0, 10]);
    const second = b.query(s.text(cleanLeases), [envs[1], 0, 10]);
    await pause(100);
    await a.query("commit");
    await second;
    const [floor] = await s.rows<{ last_value: string }>("select last_value from {s}.lease_floor");
    expect(Number(floor!.last_value)).toBeGreaterThanOrEqual(80_000);
  });
});

test("locked rows are skipped, and none of them is waited for", async () => {
  const env = `locked-${randomUUID()}`;
  const id = await generations(2);
  for (const key of ["a", "b"]) {
    await s.store.leases.acquire({ env, key, owner: "me", leaseMs: 1, token: randomUUID() });
    await s.rows(`insert into {s}.limit_rates values ('${env}/${key}', clock_timestamp() - interval '1 second')`);
    const node = { incarnation: randomUUID(), identity: key, name: key, env, stack: null, build: null };
    await s.store.nodes.register(node);
    await s.store.nodes.stop(node.incarnation);
  }
  const client = await connect();
  await client.query("begin");
  await client.query(`select from ${s.dialect.schema}.journal where run_id = $1 and seq = 2 for update`, [id]);
  await client.query(`select from ${s.dialect.schema}.runs where id = $1 for update`, [id]);
  await client.query(`select from ${s.dialect.schema}.leases where env = $1 and key = 'a' for update`, [env]);
  await client.query(`select from ${s.dialect.schema}.nodes where env = $1 and name = 'a' for update`, [env]);
  await client.query(`select from ${s.dialect.schema}.limit_rates where key = $1 for update`, [`${env}/a`]);
  await pause(5);
  const begunAt = performance.now();
  expect((await clean("generations")).removed).toBe(2 * 22 + 2 - 1);
  for (const part of ["leases", "nodes", "rates"] as const) expect((await clean(part, { env })).removed, part).toBe(1);
  expect(performance.now() - begunAt).toBeLessThan(3_000);
  await client.query("rollback");
  for (const part of ["leases", "nodes", "rates"] as const) expect((await clean(part, { env })).removed, part).toBe(1);
});

describe("retention", () => {
  const audit = (days: number) =>
    s.rows(`insert into {s}.audit (id, at, env, by, via, action, object)
      values (gen_random_uuid(), clock_timestamp() - interval '${days} days', 'test', 'me', 'test', 'a', 'o')`);

  test("old rows of the audit are removed; a trigger refuses to delete or change younger ones", async () => {
    for (const days of [1, 29, 31, 400]) await audit(days);
    expect(await s.store.cleanUp({ part: "audit", env: "test", everyMs: 0, limit: 10 })).toMatchObject({ removed: 1 });
    expect((await clean("audit")).removed).toBe(1);
    expect(await count("audit")).toBe(2);
    await expect(s.rows("delete from {s}.audit where true")).rejects.toMatchObject({ code: "HF002" });
    await audit(400);
    await expect(
      s.rows("update {s}.audit set note = 'x' where at < now() - interval '300 days'"),
    ).rejects.toMatchObject({
      code: "HF002",
    });
  });

  test("runs that another session has locked are left for the next round", async () => {
    const own = group("locked");
    const [id] = await s.store.runs.groupIds([own]);
    await s.rows(`insert into {s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at, ended_at)
      select md5('locked' || n)::uuid, ${id}, 0, 'completed', now(), 5, now(), now() from generate_series(1, 5) n`);
    const client = await connect();
    await client.query("begin");
    await client.query(`select from ${s.schema}.runs where id = md5('locked1')::uuid for update`);
    expect((await clean("runs")).removed).toBe(4);
    await client.query("rollback");
    expect((await clean("runs")).removed).toBe(1);
  });

  test("one call prunes and archives more than fits one statement", async () => {
    const own = group("many");
    const [id] = await s.store.runs.groupIds([own]);
    await s.rows(`insert into {s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at, ended_at)
      select gen_random_uuid(), ${id}, 0, 'completed', now(), 5, now(), now() from generate_series(1, 2500) n`);
    const all = { env: "test", endedBeforeMs: 0, program: own.program, limit: 5_000 };
    expect(await s.store.runs.archive(all)).toBe(2_500);
    expect(await s.store.runs.prune({ ...all, limit: 2_400 })).toBe(2_400);
    expect(await s.store.runs.countPrunable(all)).toEqual({ completed: 100 });
    expect(await s.store.runs.prune(all)).toBe(100);
  });
});

describe("plans", () => {
  const BATCH = 200;
  /** A row for each part, one value, and a row for each program. */
  const SMALL = ["cleanups", "lease_floor", "claim_groups"];

  test("read by index and a bounded number of rows, whatever the tables hold", async () => {
    const client = await connect();
    const [own] = await s.store.runs.groupIds([group("plans", { env: "plans" })]);
    await s.rows(`insert into {s}.runs (id, claim_group, priority, state, available_at, crash_limit, seq, base_seq, created_at)
      select md5('run' || n)::uuid, ${own}, 0, 'parked', clock_timestamp(), 5, 20, 10, clock_timestamp() from generate_series(0, 4999) n`);
    await s.rows(`insert into {s}.journal (run_id, seq, epoch, kind, name, at)
      select md5('run' || (n / 20))::uuid, n % 20 + 1, 0, case when n % 10 = 0 then 'start' else 'step' end, '', clock_timestamp()
      from generate_series(0, 99999) n`);
    await s.rows(`insert into {s}.inbox (run_id, key, message_id, kind, name, at, taken_seq)
      select md5('run' || (n / 10))::uuid, 'child:' || n, gen_random_uuid(), 'child', 'completed', clock_timestamp(), n % 10 + 1
      from generate_series(0, 49999) n`);
    await s.rows(`insert into {s}.leases (env, key, state, owner, epoch, attempt, lease_until, acquired_at, finished_at)
      select 'plans', 'key-' || n, 'done', 'o', 1, 1, clock_timestamp(), clock_timestamp(), clock_timestamp()
      from generate_series(1, 30000) n`);
    await s.rows(`insert into {s}.nodes (incarnation, identity, name, env, started_at, seen_at, stopped_at, serves, claims, mode, overrides)
      select gen_random_uuid(), 'i', 'n', 'plans', clock_timestamp(), clock_timestamp(), clock_timestamp(), '{}', '{}', 'full', '{}'
      from generate_series(1, 30000) n`);
    await s.rows(`insert into {s}.limit_rates
      select 'plans/' || n, clock_timestamp() - interval '1 second' from generate_series(1, 30000) n`);
    await s.rows(`insert into {s}.debounces (env, subscription, subject, run_id, last_at, codec, data)
      select 'plans', 'sub', 's-' || n, gen_random_uuid(), clock_timestamp(), 'json', '1' from generate_series(1, 30000) n`);
    await s.rows(`insert into {s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at, ended_at)
      select gen_random_uuid(), ${own}, 0, 'completed', clock_timestamp(), 5, clock_timestamp(), clock_timestamp()
      from generate_series(1, 20000) n`);
    await s.rows(`insert into {s}.run_keys (hash, env, scope, key, run_id, payload_hash, lifetime, expires_at)
      select gen_random_uuid(), 'plans', 'p', n::text, gen_random_uuid(), 'h', 'timed', clock_timestamp() from generate_series(1, 30000) n`);
    await s.rows(`insert into {s}.reclaimed_claims (run_id, epoch, owner, outcome, at, counted, losses)
      select md5('run' || (n / 6))::uuid, n % 6, gen_random_uuid(), 'waiting', clock_timestamp(), true, 0
      from generate_series(0, 29999) n`);
    await s.rows(`insert into {s}.instances (key, claim_group, id, input_hash, redact, created_at, seq, snapshot_seq, status, updated_at, ended_at, value, codec, data)
      select md5('i' || n)::uuid, ${own}, n::text, 'h', '[]', now(), 1, 1, 'done', now(), now(), '1', 'json', '1' from generate_series(1, 20000) n`);
    await s.rows(`insert into {s}.timers (id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at)
      select gen_random_uuid(), md5('i' || n)::uuid, ${own}, 1, 'after', 'a', 'json', '1', now(), now() from generate_series(1, 20000) n`);
    await s.rows(`insert into {s}.audit (id, at, env, by, via, action, object)
      select gen_random_uuid(), clock_timestamp() - interval '40 days', 'plans', 'me', 'test', 'a', 'o' from generate_series(1, 30000) n`);
    for (const analyzed of [false, true]) {
      if (analyzed)
        await s.rows(
          "analyze {s}.runs, {s}.inbox, {s}.journal, {s}.leases, {s}.nodes, {s}.limit_rates, {s}.run_keys, {s}.reclaimed_claims, {s}.audit, {s}.instances, {s}.timers",
        );
      for (const part of Object.keys(STATEMENTS) as CleanPart[]) {
        await s.store.cleanUp({ part, env: "plans", everyMs: 0, keepMs: DAY_MS, limit: 1 });
        for (const mode of ["force_custom_plan", "force_generic_plan"] as const) {
          const reading = await explain(
            client,
            s.text(STATEMENTS[part]),
            ["plans", part === "runs" ? Array(5).fill(0) : 0, BATCH],
            mode,
          );
          const tables = reading.whole.filter((table) => !SMALL.includes(table));
          expect(tables, `${part}, ${mode}`).toEqual([]);
          const most = Math.max(...Object.values(reading.rows));
          expect(most, `${part}, ${mode}: ${JSON.stringify(reading.rows)}`).toBeLessThan(3 * BATCH + KEPT_NODES);
        }
      }
      const turn = await explain(client, s.text(takeTurn), ["plans", "nodes", 0], "force_generic_plan");
      expect(turn.whole).toEqual([]);
    }
  }, 60_000);
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

describe("the retention of runs", () => {
  const age = ["test", 0, 10, null, null, null, null];
  const cases = { prune: [pruneRuns, age], clean: [cleanRuns, ["test", "{0,0,0,0,0}", 10]] } as const;
  for (const [name, [statement, values]] of Object.entries(cases)) {
    test(`${name} adds no flush to those of the nodes, and leaves the session as it was`, async () => {
      const client = new pg.Client({ connectionString: s.url });
      opened.push(client);
      await client.connect();
      const setting = async () => (await client.query("show synchronous_commit")).rows[0].synchronous_commit;
      await client.query("begin");
      await client.query(s.text(statement), [...values]);
      expect(await setting()).toBe("off");
      await client.query("commit");
      expect(await setting()).toBe("on");
    });
  }
});
