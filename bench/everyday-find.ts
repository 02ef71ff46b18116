// Finding runs among a million that have ended: by key, by program, by state, by attribute.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { createClient } from "../src/client/create-client.js";
import { openPostgres } from "../src/store/postgres/open.js";
import { percentile } from "./measure.js";
import type { PartOptions } from "./parts.js";

/** The most that 95 of 100 calls may take. */
const KEY_MS = 5;
const LIST_MS = 20;
/** It reads 10,000 runs. */
const WALK_MS = 200;

interface Figure {
  readonly name: string;
  readonly p50: number;
  readonly p95: number;
  readonly needs: number;
}

/** A store in which `runs` have ended. */
export interface Full {
  readonly store: ReturnType<typeof openPostgres>;
  readonly schema: string;
  readonly pool: pg.Pool;
  readonly runs: number;
}

export async function fullStore(url: string, { quick, say }: PartOptions): Promise<Full> {
  const runs = quick ? 100_000 : 1_000_000;
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const store = openPostgres(url, { schema });
  await store.migrate();
  const pool = new pg.Pool({ connectionString: url, max: 2 }).on("error", () => {});
  say(`filling ${runs} ended runs`);
  await fill(pool, schema, runs);
  return { store, schema, pool, runs };
}

export async function benchFind({ store, runs }: Full, { quick, say }: PartOptions) {
  const calls = quick ? 60 : 200;
  const client = createClient({ store, env: "default" });
  const asked: readonly (readonly [string, number, (i: number) => Promise<number>])[] = [
    [
      "by key",
      KEY_MS,
      async (i) => ((await client.runs.get({ program: "order", key: `k${(i * 911) % (runs / 5)}` })) ? 1 : 0),
    ],
    ["list by a common program", LIST_MS, (i) => page({ program: i % 2 === 0 ? "order" : "mail" })],
    ["list by a rare and old program", LIST_MS, () => page({ program: "rare" })],
    ["list by a common state", LIST_MS, () => page({ state: "completed" })],
    ["list by a rare state", LIST_MS, (i) => page({ state: (["failed", "cancelled", "dead"] as const)[i % 3]! })],
    ["list by a state without runs", LIST_MS, () => page({ state: ["running", "paused"] })],
    ["list by a common attribute", LIST_MS, () => page({ attributes: { region: "eu" } })],
    ["list by a rare attribute", LIST_MS, (i) => page({ attributes: { customer: `c${i % 1000}` } })],
    [
      "list by program, state and attribute",
      LIST_MS,
      () => page({ program: "order", state: "failed", attributes: { region: "eu" } }),
    ],
    ["list by two attributes", LIST_MS, (i) => page({ attributes: { region: "eu", customer: `c${(i * 2) % 1000}` } })],
    ["the tenth page", LIST_MS, () => tenth()],
    ["list by the beginning of a key", LIST_MS, (i) => page({ keyPrefix: `k${1000 + i}` })],
    [
      "list by a state and an attribute that exclude each other",
      WALK_MS,
      () => page({ program: "mail", state: "failed", attributes: { region: "us" } }),
    ],
    ["count up to 10,000", WALK_MS, async () => (await client.runs.count({ program: "order" })).n],
  ];
  const page = async (query: Parameters<typeof client.runs.list>[0]) => (await client.runs.list(query)).runs.length;
  const after = await cursorOf(client, 9);
  const tenth = async () => (await client.runs.list({ program: "mail" }, { after })).runs.length;
  const figures: Figure[] = [];
  for (const [name, needs, call] of asked) {
    const times: number[] = [];
    let found = 0;
    for (let i = -20; i < calls; i++) {
      const startedAt = performance.now();
      found += await call(Math.abs(i));
      if (i >= 0) times.push(performance.now() - startedAt);
    }
    const [p50, p95] = [percentile(times, 0.5), percentile(times, 0.95)].map((ms) => Math.round(ms * 10) / 10) as [
      number,
      number,
    ];
    figures.push({ name, p50, p95, needs });
    say(`${p95 <= needs ? "ok  " : "FAIL"} ${name}: p50 ${p50} ms, p95 ${p95} ms (needs ${needs}), ${found} found`);
  }
  return { ok: figures.every(({ p95, needs }) => p95 <= needs), runs, figures };
}

async function cursorOf(client: ReturnType<typeof createClient>, pages: number): Promise<string> {
  let after = "";
  for (let i = 0; i < pages; i++)
    after = (await client.runs.list({ program: "mail" }, after === "" ? {} : { after })).next!;
  return after;
}

/** Of ten runs six are of `order`, the others of `mail`; the first hundred are of `rare`. One in a hundred has failed. */
async function fill(pool: pg.Pool, s: string, runs: number): Promise<void> {
  await pool.query(`insert into ${s}.claim_groups (id, env, stack, queue, program, version)
    select n, 'default', '', p, p, '' from unnest(array['order', 'mail', 'rare']) with ordinality x(p, n)`);
  const id = (n: string) => `('018f' || lpad(to_hex(${n}), 8, '0') || '70008000000000000000')::uuid`;
  await pool.query(`insert into ${s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at, ended_at, seq, key_hash)
    select ${id("n")}, case when n <= 100 then 3 when n % 10 < 6 then 1 else 2 end, 0,
      case when n % 100 = 8 then 'failed' when n % 1000 = 10 then 'cancelled' when n % 100000 = 12 then 'dead' else 'completed' end,
      now(), 5, now(), now() - (${runs} - n) * interval '1 second', 2,
      case when n % 5 = 0 then left(encode(sha256(convert_to('default', 'UTF8') || '\\x00' || convert_to('order', 'UTF8') || '\\x00'
        || convert_to('k' || n / 5 - 1, 'UTF8')), 'hex'), 32)::uuid end
    from generate_series(1, ${runs}) n`);
  await pool.query(`insert into ${s}.run_keys (hash, env, scope, key, run_id, payload_hash, lifetime)
    select left(encode(sha256(convert_to('default', 'UTF8') || '\\x00' || convert_to('order', 'UTF8') || '\\x00'
        || convert_to('k' || n - 1, 'UTF8')), 'hex'), 32)::uuid, 'default', 'order', 'k' || n - 1, ${id("n * 5")}, 'h', 'archived'
    from generate_series(1, ${runs} / 5) n`);
  await pool.query(`insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
    select r.id, n, 0, case n when 1 then 'start' else 'completed' end, '', 'json', '{"id":"o-1","cents":300}', now()
    from ${s}.runs r cross join generate_series(1, 2) n`);
  await pool.query(`insert into ${s}.run_attributes (run_id, name, value, claim_group)
    select r.id, a.name, a.value, r.claim_group from generate_series(1, ${runs} / 2) n
    join ${s}.runs r on r.id = ${id("n * 2")}
    cross join lateral (values ('region', case when n % 2 = 0 then '"eu"' else '"us"' end), ('customer', '"c' || n % 1000 || '"')) a(name, value)`);
  await pool.query(`vacuum analyze ${s}.runs, ${s}.journal, ${s}.run_keys, ${s}.run_attributes, ${s}.claim_groups`);
}
