// The PostgreSQL server of the benchmarks: embedded, with stated settings, or the one of HOLDFAST_BENCH_DATABASE_URL.

import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { startEmbedded } from "../src/embedded/index.js";

export interface Server {
  readonly url: string;
  /** Of its main process; null when it may run on another machine. */
  readonly pid: number | null;
  readonly stop: () => Promise<void>;
}

/** Everything else is PostgreSQL's default. */
const SETTINGS = {
  max_wal_size: "4GB",
  shared_buffers: "512MB",
  max_connections: "400",
  checkpoint_timeout: "30min",
  shared_preload_libraries: "pg_stat_statements",
  // Every schema has texts of its own; those that do not fit would be forgotten with their counts.
  "pg_stat_statements.max": "50000",
  // Only while a work counts statements: counting costs most where there are many.
  "pg_stat_statements.track": "none",
};

/** What the report states of it. */
const SHOWN = [
  "server_version",
  "synchronous_commit",
  "fsync",
  "full_page_writes",
  "wal_level",
  "shared_buffers",
  "max_wal_size",
  "checkpoint_timeout",
  "max_connections",
  "autovacuum",
  "shared_preload_libraries",
];

export async function startServer(): Promise<Server> {
  const given = process.env["HOLDFAST_BENCH_DATABASE_URL"];
  if (given) return { url: given, pid: null, stop: async () => {} };
  const server = await startEmbedded({ temporary: true, settings: SETTINGS, onNotice: () => {} });
  return { url: server.url, pid: server.pid, stop: () => server.stop() };
}

export async function serverSettings(pool: pg.Pool): Promise<Record<string, string>> {
  const text = "select name, current_setting(name) as value from unnest($1::text[]) as name";
  const { rows } = await pool.query<{ name: string; value: string }>(text, [SHOWN]);
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

/** Time that the server's processes have spent on a core, in microseconds; null when they are not on this machine. */
export function serverCpuUs({ pid }: Server): number | null {
  if (pid === null || process.platform !== "linux") return null;
  let ticks = 0;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const fields = statOf(entry);
    if (!fields) continue;
    // utime and stime; of the main process also those of its children that have ended.
    if (Number(entry) === pid) ticks += fields[11]! + fields[12]! + fields[13]! + fields[14]!;
    else if (fields[1] === pid) ticks += fields[11]! + fields[12]!;
  }
  return ticks * 10_000;
}

/** The main process and its children; none when they are not on this machine. */
export function serverPids({ pid }: Server): number[] {
  if (pid === null || process.platform !== "linux") return [];
  const numbers = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  return [pid, ...numbers.filter((entry) => statOf(entry)?.[1] === pid).map(Number)];
}

/** Flushes of the log by sessions so far; a session reports its last ones when it ends. */
export async function logFlushes(pool: pg.Pool): Promise<number> {
  const version = "select /* bench */ current_setting('server_version_num')::int as version";
  const isNew = (await pool.query<{ version: number }>(version)).rows[0]!.version >= 180_000;
  const text = isNew
    ? "select coalesce(sum(fsyncs), 0)::float8 as n from pg_stat_io where object = 'wal' and backend_type = 'client backend'"
    : "select wal_sync::float8 as n from pg_stat_wal";
  return (await pool.query<{ n: number }>(text.replace("select", "select /* bench */"))).rows[0]!.n;
}

/** The fields behind the name of a process: state (as NaN), parent, and so on. */
function statOf(pid: string): number[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
  } catch {
    // It has ended in between.
    return undefined;
  }
}

/** Bytes of the log written so far. */
export async function walBytes(pool: pg.Pool): Promise<number> {
  const text = "select /* bench */ pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes";
  return (await pool.query<{ bytes: number }>(text)).rows[0]!.bytes;
}

/** Begins or ends counting on the benchmarks' own server; another server is left as it is. */
export async function countStatements({ pid }: Server, pool: pg.Pool, counts: boolean): Promise<void> {
  if (pid === null) return;
  const { rows } = await pool.query<{ name: string }>("select quote_ident(current_database()) as name");
  // For sessions that begin from now on; the processes open theirs for every measurement.
  await pool.query(`alter database ${rows[0]!.name} set pg_stat_statements.track = ${counts ? "top" : "none"}`);
}

/** Statements that the server has executed, without those that the runner marks as its own; null without pg_stat_statements. */
export async function statements(pool: pg.Pool): Promise<number | null> {
  // Without the library, the extension can be created but not read.
  const { rows } = await pool.query<{ names: string }>(
    "select /* bench */ current_setting('shared_preload_libraries') as names",
  );
  if (!rows[0]!.names.includes("pg_stat_statements")) return null;
  await pool.query("create extension /* bench */ if not exists pg_stat_statements");
  const text = `select /* bench */ coalesce(sum(calls), 0)::float8 as calls from pg_stat_statements
    where toplevel and query not like '%/* bench */%'`;
  return (await pool.query<{ calls: number }>(text)).rows[0]!.calls;
}
