// Renews leases, and reports which claims are lost.

import type { Claim } from "../../../kernel/run/claim.js";
import type { RenewAnswer } from "../../contract/run/runs.js";
import { isStoreTrouble } from "../../contract/trouble.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { bigint, oneOf, rowset, uuid } from "../connection/rowset.js";

const CLAIMS = rowset<Claim>()({
  run_id: uuid(({ runId }) => runId),
  epoch: bigint(({ epoch }) => epoch),
  token: uuid(({ token }) => token),
});

/**
 * Rows locked by another statement are skipped, never waited for: one slow user transaction would otherwise hold up
 * the renewal of all other rows. A claim is lost only when that is certain: the committed row shows another claim, or
 * this statement had locked the row and it did not match. A skipped row that still shows this claim is busy. A renewal is a sign
 * of life: while a holder's renewals succeed, other nodes do not count it as gone, even when its presence is lost.
 */
export const renewClaims = statement(
  "renew_claims",
  "Renews the leases of claims and reports which claims are lost.",
  ({ schema: s, now }) => `
with w as materialized (
  select * from ${CLAIMS.from(1).as("w", "ord")}
), l as materialized (
  select w.* from w join ${s}.runs r on r.id = w.run_id for no key update of r skip locked
), renewed as (
  update ${s}.runs r set lease_until = ${now} + ${interval("$4::float8")}
  from l
  where r.id = l.run_id and r.epoch = l.epoch and r.token = l.token
  returning l.ord, r.inbox_seq, r.owner
), holder as materialized (
  select n.incarnation from ${s}.nodes n where n.incarnation = any(array(select distinct owner from renewed))
    and n.stopped_at is null
  for no key update skip locked
), heard as (
  update ${s}.nodes n set seen_at = ${now} where n.incarnation = any(array(select incarnation from holder))
)
select ord::int, 'held' as outcome, inbox_seq from renewed
union all
select w.ord::int,
  case when r.epoch = w.epoch and r.token = w.token and not ${oneOf("w.ord", "select ord from l")} then 'busy' else 'lost' end,
  null
from w left join lateral (select epoch, token from ${s}.runs r where r.id = w.run_id limit 1) r on true
where not ${oneOf("w.ord", "select ord from renewed")}`,
);

/** A renewal without an answer must leave time for another within the lease. */
const SHORTEST_TIMEOUT_MS = 250;

interface Row {
  ord: number;
  outcome: "held" | "busy" | "lost";
  inbox_seq: string | null;
}

async function renew(db: Database, claims: readonly Claim[], leaseMs: number): Promise<readonly RenewAnswer[]> {
  // Each once: an UPDATE renews a row once, and the same claim asked for again would look lost.
  const once = [...new Map(claims.map((claim) => [nameOf(claim), claim])).values()];
  if (once.length === 0) return [];
  const values = [...CLAIMS.arrays(once), leaseMs];
  const how = { once: true, timeoutMs: Math.max(leaseMs / 3, SHORTEST_TIMEOUT_MS) };
  // A connection of its own that cannot be opened must not cost the claims while the others work.
  const rows = await db.run<Row>(renewClaims, values, { ...how, line: "renewals" }).catch((error) => {
    if (!isStoreTrouble(error)) throw error;
    return db.run<Row>(renewClaims, values, how);
  });
  const answers = new Map<string, RenewAnswer>();
  for (const { ord, outcome, inbox_seq } of rows) {
    const answer = outcome === "held" ? { outcome, inboxSeq: Number(inbox_seq) } : { outcome };
    answers.set(nameOf(once[ord - 1]!), answer);
  }
  return claims.map((claim) => answers.get(nameOf(claim)) ?? { outcome: "lost" });
}

function nameOf({ runId, epoch, token }: Claim): string {
  return `${runId} ${epoch} ${token}`;
}

export const renewals = { renew };
