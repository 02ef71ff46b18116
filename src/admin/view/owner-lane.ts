// The owner lane of a run: each claim with its holder, its first and last entry, and how it ended.

import type * as z from "zod";
import { isEnded, type RunState } from "../../kernel/run/run-state.js";
import type { ClaimRecord } from "../../store/contract/claim/claims.js";
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
): ClaimView[] {
  return claims.map(({ epoch, holder, reclaimed }) => {
    const mine = entries.filter((entry) => entry.epoch === epoch);
    const last = mine.at(-1);
    const isHeld = run.state === "running" && epoch === run.epoch;
    return {
      epoch,
      holder,
      from: iso(mine[0]?.at ?? null),
      to: iso(last?.at ?? null),
      entries: mine.length,
      ended: isHeld ? "held" : reclaimed ? "reclaimed" : endOf(last?.kind),
      reclaimed: reclaimed && { ...reclaimed, at: iso(reclaimed.at) },
    };
  });
}

function endOf(kind: string | undefined): string {
  if (kind === undefined) return "released";
  if (kind === "start") return "continued as new";
  return RELEASED.includes(kind) || isEnded(kind as RunState) ? kind : "released";
}
