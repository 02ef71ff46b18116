// Lists orphans, and reclaims each by the policy that an operator chose.

import type { Orphan, OrphanFilter, RecoveryDecision } from "../../contract/claim/recovery.js";
import type { Reclaimed } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { bigint, rowset, text, uuid } from "../connection/rowset.js";
import { groupJson } from "../run/groups.js";
import { ON_REQUEST, RECLAIMED } from "./reclaim-expired.js";
import { EXPIRED, reclaimParts } from "./reclaim-orphans-sql.js";
import { type ReclaimedRow, settleReclaimed } from "./reclaimed.js";

export const findOrphans = statement(
  "find_orphans",
  "Lists runs whose lease has expired for a given time.",
  ({ schema: s, now }) => `
select r.id as "runId", ${groupJson("g")} as "group", r.owner, r.epoch::float8, r.crashes, r.crash_limit as "crashLimit",
  floor(extract(epoch from ${now} - r.lease_until) * 1000)::float8 as "expiredForMs",
  coalesce(r.recovery, g.recovery) as recovery
from ${s}.runs r cross join lateral (select * from ${s}.claim_groups g where g.id = r.claim_group limit 1) g
where r.state = 'running' and r.lease_until <= (select ${now}) - ${interval("$1::float8")}
  and ($2::text is null or g.env = $2) and ($3::text is null or g.stack in ($3, '')) and ($4::uuid is null or r.id > $4)
order by r.id
limit $5`,
);

const DECISIONS = rowset<RecoveryDecision>()({
  id: uuid(({ runId }) => runId),
  epoch: bigint(({ epoch }) => epoch),
  policy: text(({ policy }) => policy),
});

/** The whole precondition is in the UPDATE: the claim that was decided on, its lease still expired for that time. */
export const reclaimOrphans = statement(
  "reclaim_orphans",
  "Reclaims orphans, each by the policy that an operator chose for it.",
  (d) => {
    const { schema: s } = d;
    const over = (time: string) => `lease_until <= ${time} - ${interval("$4::float8")}`;
    return `
with t as materialized (select ${d.now} as now
), expired as materialized (
  select r.*, false as gone, w.policy from ${DECISIONS.from(1).as("w")}
  cross join lateral (
    select ${EXPIRED} from ${s}.runs r
    where r.id = w.id and r.epoch = w.epoch and r.token is not null and r.${over(`(select ${d.now})`)}
    limit 1 for no key update skip locked
  ) r
), ${reclaimParts(d, `r.${over("t.now")}`, ON_REQUEST)}${RECLAIMED(d)}`;
  },
);

async function orphans(db: Database, filter: OrphanFilter): Promise<readonly Orphan[]> {
  const { env, stack, staleMs, limit, after } = filter;
  if (limit < 1) return [];
  return db.run<Orphan>(findOrphans, [staleMs, env ?? null, stack ?? null, after ?? null, limit]);
}

async function recover(
  db: Database,
  decisions: readonly RecoveryDecision[],
  { staleMs }: { readonly staleMs: number },
): Promise<readonly Reclaimed[]> {
  if (decisions.length === 0) return [];
  const rows = await db.run<ReclaimedRow>(reclaimOrphans, [...DECISIONS.arrays(decisions), staleMs]);
  db.onWork(rows.flatMap(({ claim_group }) => claim_group ?? []));
  return settleReclaimed(db, rows, null);
}

export const recovery = { orphans, recover };
