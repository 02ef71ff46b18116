// Orphans one by one: who they are, and taking back each as somebody decided.

import type { Orphan, OrphanFilter, RecoveryDecision } from "../../contract/claim/recovery.js";
import type { Reclaimed } from "../../contract/run/runs.js";
import { unnest } from "../connection/batch.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { type ReclaimedRow, settleReclaimed } from "./reclaimed.js";
import { NOBODY, RECLAIMED } from "./sweep-expired.js";
import { EXPIRED, takeBackParts } from "./take-back.js";

export const findOrphans = statement(
  "find_orphans",
  ({ schema: s, now }) => `
select r.id, g.env, g.stack, g.queue, g.program, g.version, r.owner, r.epoch, r.crashes, r.crash_limit,
  coalesce(r.recovery, g.recovery) as recovery,
  floor(extract(epoch from ${now} - r.lease_until) * 1000)::float8 as expired_for_ms
from ${s}.runs r cross join lateral (select * from ${s}.claim_groups g where g.id = r.claim_group limit 1) g
where r.state = 'running' and r.lease_until <= (select ${now}) - ${interval("$1::float8")}
  and ($2::text is null or g.env = $2) and ($3::text is null or g.stack in ($3, '')) and ($4::uuid is null or r.id > $4)
order by r.id
limit $5`,
);

/** The whole precondition stands in the UPDATE: the claim that was decided on, its lease still over for so long. */
export const recoverRuns = statement("recover_runs", (d) => {
  const { schema: s } = d;
  const over = (time: string) => `lease_until <= ${time} - ${interval("$4::float8")}`;
  return `
with t as materialized (select ${d.now} as now
), expired as materialized (
  select r.*, false as gone, w.policy from ${unnest(1, ["uuid", "bigint", "text"])} as w(id, epoch, policy)
  cross join lateral (
    select ${EXPIRED} from ${s}.runs r
    where r.id = w.id and r.epoch = w.epoch and r.token is not null and r.${over(`(select ${d.now})`)}
    limit 1 for no key update skip locked
  ) r
), ${takeBackParts(d, `r.${over("t.now")}`, NOBODY)}${RECLAIMED(d)}`;
});

interface OrphanRow {
  id: string;
  env: string;
  stack: string;
  queue: string;
  program: string;
  version: string;
  owner: string;
  epoch: string;
  crashes: number;
  crash_limit: number;
  recovery: Orphan["recovery"];
  expired_for_ms: number;
}

export async function orphans(db: Database, filter: OrphanFilter): Promise<readonly Orphan[]> {
  const { env, stack, staleMs, limit, after } = filter;
  if (limit < 1) return [];
  const rows = await db.run<OrphanRow>(findOrphans, [staleMs, env ?? null, stack ?? null, after ?? null, limit]);
  return rows.map((row) => ({
    runId: row.id,
    group: {
      env: row.env,
      stack: row.stack || null,
      queue: row.queue,
      program: row.program,
      version: row.version || null,
    },
    owner: row.owner,
    epoch: Number(row.epoch),
    crashes: row.crashes,
    crashLimit: row.crash_limit,
    expiredForMs: row.expired_for_ms,
    recovery: row.recovery,
  }));
}

export async function recover(
  db: Database,
  decisions: readonly RecoveryDecision[],
  { staleMs }: { readonly staleMs: number },
): Promise<readonly Reclaimed[]> {
  if (decisions.length === 0) return [];
  const columns = [
    decisions.map(({ runId }) => runId),
    decisions.map(({ epoch }) => epoch),
    decisions.map(({ policy }) => policy),
  ];
  const rows = await db.run<ReclaimedRow>(recoverRuns, [...columns, staleMs]);
  db.onWork(rows.flatMap(({ claim_group }) => claim_group ?? []));
  return settleReclaimed(db, rows, null);
}
