// Reclaims the claims of nodes that are gone, and those whose lease has expired: in the witness's own env, judged by the settings
// that the holder registered.

import type { ReclaimRound } from "../../contract/node/house.js";
import type { Reclaimed } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { departingParts, goneParts, HERE, HOLDER_GONE, inEnv, isOrphan } from "../node/presence-sql.js";
import { orphanParts, RECLAIMED } from "./reclaim-expired.js";
import { type ReclaimedRow, settleReclaimed } from "./reclaimed.js";

const WITNESS = { env: "$2::text", watchedMs: "$3::float8", troubled: "$4::boolean" };

export const reclaimRuns = statement(
  "reclaim_runs",
  "Reclaims the claims of nodes that are gone and those whose lease has expired, for one node.",
  (d) => `
with t as materialized (select ${d.now} as now
), ${HERE}, ${departingParts(d, WITNESS)}, ${goneParts(d, WITNESS)}, ${orphanParts(d, {
    limit: "$5",
    by: "$1::uuid",
    condition: inEnv(d, WITNESS.env),
    over: isOrphan(d, WITNESS),
    isGone: HOLDER_GONE,
  })}${RECLAIMED(d)}`,
);

export async function reclaim(db: Database, round: ReclaimRound): Promise<readonly Reclaimed[]> {
  const { incarnation, env, watchedMs, troubled, limit } = round;
  if (limit < 1) return [];
  // Repeated through an outage, it would come back as the first statement of all and take every claim: all leases have expired
  // by then, and the time it had watched was measured before. (20 s without a database: 18 runs taken from nodes that were alive.)
  const rows = await db.run<ReclaimedRow>(reclaimRuns, [incarnation, env, watchedMs, troubled, limit], { once: true });
  db.onWork([...new Set(rows.flatMap(({ claim_group }) => claim_group ?? []))]);
  return settleReclaimed(db, rows, incarnation);
}
