// Examines a PostgreSQL server for the doctor: version, settings, pooler, clock, health of the tables, and what the server can do.

import { PACKAGE_VERSION } from "../../kernel/package-version.js";
import type { World } from "../../kernel/world.js";
import type { Ability, ServerReport, TableHealth } from "../contract/server-report.js";
import type { Database } from "./connection/database.js";
import { statement } from "./connection/dialect.js";
import { ms } from "./connection/instant.js";
import { checkSchema } from "./migrate.js";
import { NO_SESSION, probeSession } from "./probe-session.js";

const readServer = statement(
  "read_server",
  "Reads version, settings and connections of the server.",
  ({ now }) => `
select current_setting('server_version_num')::int as version, current_setting('server_version') as version_text,
  current_setting('synchronous_commit') as synchronous_commit, pg_is_in_recovery() as is_replica, ${ms(now)} as now,
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
  current_setting('max_connections')::int as most,
  (select max(extract(epoch from clock_timestamp() - x.since) * 1000)::float8 from (
    select a.xact_start as since from pg_stat_activity a where a.backend_xmin is not null and a.pid <> pg_backend_pid()
    union all select p.prepared from pg_prepared_xacts p) x) as oldest`,
);

const readTables = statement(
  "read_table_health",
  "Reads live and dead rows of each table, and indexes that are not valid.",
  ({ schema: s }) => `
select t.relname as "table", t.n_live_tup::float8 as live, t.n_dead_tup::float8 as dead,
  pg_total_relation_size(t.relid)::float8 as bytes,
  array(select i.indexrelid::regclass::text from pg_index i where i.indrelid = t.relid and not i.indisvalid) as invalid
from pg_stat_user_tables t where t.schemaname = '${s.replaceAll('"', "")}' order by 4 desc`,
);

const probeRowLocks = statement(
  "probe_row_locks",
  "Tries to skip locked rows.",
  ({ schema: s }) => `select m.key from ${s}.meta m limit 1 for no key update skip locked`,
);

interface ServerRow {
  version: number;
  version_text: string;
  synchronous_commit: string;
  is_replica: boolean;
  now: number;
  used: number;
  most: number;
  oldest: number | null;
}

export async function examine(db: Database, world: World): Promise<ServerReport> {
  await db.run(readServer, []);
  const trips: number[] = [];
  let [server, skew] = [null as ServerRow | null, 0];
  for (let i = 0; i < 5; i++) {
    const begun = world.monotonicNow();
    server = (await db.run<ServerRow>(readServer, []))[0]!;
    trips.push(world.monotonicNow() - begun);
    skew = server.now - (world.wallNow() - trips.at(-1)! / 2);
  }
  const schemaProblem = await checkSchema(db).then(
    () => null,
    (error: Error) => error.message,
  );
  const tables = await db.run<TableHealth & { invalid: string[] }>(readTables, []);
  const { version, version_text, synchronous_commit, is_replica, used, most, oldest } = server!;
  return {
    version,
    versionText: version_text,
    package: PACKAGE_VERSION,
    pooled: db.pooled,
    roundTripMs: trips.sort((a, b) => a - b)[2]!,
    clockSkewMs: skew,
    synchronousCommit: synchronous_commit,
    isReplica: is_replica,
    schemaProblem,
    invalidIndexes: tables.flatMap(({ invalid }) => invalid),
    oldestSnapshotMs: oldest,
    connections: { used, most },
    tables: tables.map(({ invalid: _, ...table }) => table),
    abilities: await abilities(db, world),
  };
}

async function abilities(db: Database, world: World): Promise<readonly Ability[]> {
  const rows = await db.run(probeRowLocks, []).then(
    () => true,
    () => false,
  );
  const session = db.pooled ? NO_SESSION : await db.session((client) => probeSession(client, world));
  const either = (name: Ability["name"], ok: boolean, [whole, less]: readonly [string, string]): Ability =>
    ok ? { name, is: "works", text: whole } : { name, is: "falls back", text: less };
  return [
    rows
      ? { name: "row locks", is: "works", text: "Claims skip rows that are locked (SKIP LOCKED)." }
      : { name: "row locks", is: "missing", text: "The server cannot skip locked rows: Holdfast cannot claim here." },
    either("advisory locks", session.advisoryLocks, [
      "A session's lock shows at once that its node died.",
      "No lock of a session: leases instead. The runs of a dead node are reclaimed when their leases expire.",
    ]),
    either("notifications", session.notifications, [
      "A notification arrived: other processes are woken by NOTIFY.",
      "No notification arrives: polling instead. Nodes find work by default within 5 s.",
    ]),
    either("session settings", session.settings, [
      "Settings of a session hold.",
      "Settings are not kept between statements; timeouts are kept on this side.",
    ]),
    either("prepared statements", session.preparedStatements, [
      "Statements are prepared once for each connection.",
      "Statements are sent with their text each time.",
    ]),
  ];
}
