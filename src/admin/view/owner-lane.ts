// The owner lane of a run: each claim with its holder, its first and last entry, and how it ended.

import type * as z from "zod";
import { isEnded, type RunState } from "../../kernel/run/run-state.js";
import type { ClaimRecord } from "../../store/contract/claim/claims.js";
import type { NodeRecord } from "../../store/contract/node/nodes.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import type { OutlineEntry } from "../../store/contract/view/views.js";
import type { claimRow } from "../routes/runs.js";
import { iso } from "./iso.js";

type ClaimView = z.output<typeof claimRow>;

/** The last entry under a claim that was released in order. */
const RELEASED: readonly string[] = ["parked", "retry", "handed-back", "paused", "misfit", "quarantined"];

export function ownerLane(
  run: Pick<RunRecord, "epoch" | "state">,
  claims: readonly ClaimRecord[],
  entries: readonly OutlineEntry[],
  nodes: readonly Pick<NodeRecord, "incarnation" | "seenAt">[],
): ClaimView[] {
  return claims.map(({ epoch, holder, reclaimed }) => {
    const mine = entries.filter((entry) => entry.epoch === epoch);
    const last = mine.at(-1);
    const isHeld = run.state === "running" && epoch === run.epoch;
    return {
      epoch,
      holder,
      from: iso(mine[0]?.at ?? null),
      begins: mine[0]?.kind ?? null,
      heard: iso(reclaimed && lastSign(nodes, holder, reclaimed.at)),
      to: iso(last?.at ?? null),
      entries: mine.length,
      ended: isHeld ? "held" : reclaimed ? "reclaimed" : endOf(last?.kind),
      reclaimed: reclaimed && { ...reclaimed, at: iso(reclaimed.at) },
    };
  });
}

/** Null for a holder that was heard of afterwards: it was cut off or frozen for an unknown time. */
function lastSign(
  nodes: readonly Pick<NodeRecord, "incarnation" | "seenAt">[],
  holder: ClaimRecord["holder"],
  reclaimedAt: number,
): number | null {
  const seenAt = nodes.find(({ incarnation }) => incarnation === holder?.incarnation)?.seenAt ?? null;
  return seenAt !== null && seenAt <= reclaimedAt ? seenAt : null;
}

function endOf(kind: string | undefined): string {
  if (kind === undefined) return "released";
  if (kind === "start") return "continued as new";
  return RELEASED.includes(kind) || isEnded(kind as RunState) ? kind : "released";
}
