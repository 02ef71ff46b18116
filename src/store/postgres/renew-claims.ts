// Prolongs leases, and tells which claims are lost.

import type { Claim } from "../../kernel/claim.js";
import type { RenewAnswer } from "../contract/runs.js";
import type { Database } from "./database.js";
import { statement } from "./dialect.js";
import { interval } from "./instant.js";

/**
 * Rows locked by another statement are skipped, never waited for: one slow user transaction would otherwise hold up
 * the renewal of all its neighbours. Lost is only what is certain: the committed row shows another claim, or we had the
 * row locked and it did not match. A skipped row that still shows our claim is busy.
 */
export const renewClaims = statement(
  "renew_claims",
  ({ schema: s, now }) => `
with w as materialized (
  select * from unnest($1::uuid[], $2::bigint[], $3::uuid[]) with ordinality as w(run_id, epoch, token, ord)
), l as materialized (
  select r.id from ${s}.runs r where r.id = any($1::uuid[]) for no key update skip locked
), renewed as (
  update ${s}.runs r set lease_until = ${now} + ${interval("$4::float8")}
  from w join l on l.id = w.run_id
  where r.id = any($1::uuid[]) and r.id = l.id and r.epoch = w.epoch and r.token = w.token
  returning w.ord, r.inbox_seq
)
select n.inbox_seq,
  case
    when n.ord is not null then 'held'
    when l.id is null and r.epoch = w.epoch and r.token = w.token then 'busy'
    else 'lost'
  end as outcome
from w
left join renewed n on n.ord = w.ord
left join l on l.id = w.run_id
left join lateral (select epoch, token from ${s}.runs r where r.id = w.run_id limit 1) r on true
order by w.ord`,
);

interface Row {
  outcome: "held" | "busy" | "lost";
  inbox_seq: string | null;
}

export async function renew(db: Database, claims: readonly Claim[], leaseMs: number): Promise<readonly RenewAnswer[]> {
  if (claims.length === 0) return [];
  const values = [claims.map((c) => c.runId), claims.map((c) => c.epoch), claims.map((c) => c.token), leaseMs];
  const rows = await db.run<Row>(renewClaims, values, { line: "renewals" });
  return rows.map((row) =>
    row.outcome === "held" ? { outcome: "held", inboxSeq: Number(row.inbox_seq) } : { outcome: row.outcome },
  );
}
