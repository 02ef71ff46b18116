// Renews leases; the answer also carries how far the inbox has grown. The holder is heard of.

import type { Claim } from "../../../kernel/run/claim.js";
import type { RenewAnswer } from "../../contract/run/runs.js";
import { beat } from "../node/nodes.js";
import { toUs } from "../table/micros.js";
import type { Tables } from "../table/tables.js";

export function renewClaims(tables: Tables, claims: readonly Claim[], leaseMs: number): readonly RenewAnswer[] {
  const leaseUntilUs = tables.nowUs() + toUs(leaseMs);
  return claims.map((claim) => {
    const row = tables.runs.get(claim?.runId);
    if (!row || row.epoch !== claim.epoch || row.token !== claim.token) return { outcome: "lost" };
    row.leaseUntilUs = leaseUntilUs;
    if (row.owner) beat(tables, row.owner);
    return { outcome: "held", inboxSeq: row.inboxSeq };
  });
}
