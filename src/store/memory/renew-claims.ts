// Renews leases; the answer also carries how far the inbox has grown.

import type { Claim } from "../../kernel/claim.js";
import type { RenewAnswer } from "../contract/runs.js";
import { toUs } from "./micros.js";
import type { Tables } from "./tables.js";

export function renewClaims(tables: Tables, claims: readonly Claim[], leaseMs: number): readonly RenewAnswer[] {
  const leaseUntilUs = tables.nowUs() + toUs(leaseMs);
  return claims.map(({ runId, epoch, token }) => {
    const row = tables.runs.get(runId);
    if (!row || row.epoch !== epoch || row.token !== token) return { outcome: "lost" };
    row.leaseUntilUs = leaseUntilUs;
    return { outcome: "held", inboxSeq: row.inboxSeq };
  });
}
