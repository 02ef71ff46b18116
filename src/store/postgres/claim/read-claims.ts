// Lists the claims that a run has had, with their holders.

import type { ClaimRecord } from "../../contract/claim/claims.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";

/**
 * Of a claim that was reclaimed, its holder was noted then; of one that is held, the run's row has it. Of all others the
 * journal entries show it, by the part of their token that is its node's own (`claimToken`). The table of nodes is small and read whole.
 */
export const readClaims = statement(
  "read_claims",
  "Lists the claims that a run has had, the latest first.",
  ({ schema: s }) => {
    const holder = (incarnation: string) => `(
    select json_build_object('incarnation', ${incarnation}, 'identity', max(n.identity), 'name', max(n.name))
    from ${s}.nodes n where n.incarnation = ${incarnation} having ${incarnation} is not null
  )`;
    return `
with wrote as materialized (
  select distinct on (j.epoch) j.epoch, j.token from ${s}.journal j
  where j.run_id = $1 and j.token is not null order by j.epoch desc limit $2
), taken as materialized (
  select k.epoch, k.owner, k.by, k.outcome, k.at, k.refused from ${s}.reclaimed_claims k where k.run_id = $1 order by k.epoch desc limit $2
), held as materialized (
  select r.epoch, r.owner from ${s}.runs r where r.id = $1 and r.owner is not null
), epochs as (
  select epoch from wrote union select epoch from taken union select epoch from held order by 1 desc limit $2
), claims as materialized (
  select e.epoch, k.by, k.outcome, k.refused, ${ms("k.at")} as at,
    coalesce(h.owner, k.owner, (
      select n.incarnation from ${s}.nodes n where right(n.incarnation::text, 17) = right(w.token::text, 17) limit 1
    )) as owner
  from epochs e left join wrote w using (epoch) left join taken k using (epoch) left join held h using (epoch)
)
select c.epoch::float8, ${holder("c.owner")} as holder,
  case when c.outcome is not null then json_build_object(
    'at', c.at, 'by', ${holder("c.by")}, 'outcome', c.outcome, 'refused', c.refused
  ) end as reclaimed
from claims c order by c.epoch`;
  },
);

async function claims(
  db: Database,
  runId: string,
  { limit }: { readonly limit: number },
): Promise<readonly ClaimRecord[]> {
  if (limit < 1) return [];
  return db.run<ClaimRecord>(readClaims, [runId, limit]);
}

export const claimReads = { claims };
