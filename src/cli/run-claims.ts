// The claims of a run: who held each, what was written under it and when, and how it ended.

import { isEnded, type RunState } from "../kernel/run/run-state.js";
import type { ClaimRecord, Holder, ReclaimedClaim } from "../store/contract/claim/claims.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import { isoTime } from "./text/time-ago.js";

export interface PastClaim {
  readonly epoch: number;
  readonly holder: Holder | null;
  /** Entries written under it, in this generation. */
  readonly entries: number;
  /** When the first and the last of them were written; null when there is none. */
  readonly from: number | null;
  readonly to: number | null;
  /** `reclaimed`: the holder died or hung and did not release the claim itself. */
  readonly ended: string;
  readonly reclaimed: ReclaimedClaim | null;
}

const GIVEN_BACK: readonly string[] = ["parked", "retry", "handed-back", "paused", "misfit", "quarantined"];
/** A run may have been claimed a thousand times; the last claims show the problem. */
const MOST = 20;

export function claimsOf(
  journal: readonly JournalEntry[],
  run: Pick<RunRecord, "epoch" | "state" | "baseSeq">,
  known: readonly ClaimRecord[],
): PastClaim[] {
  // In a later generation, claims before its first entry belong to an earlier generation.
  const first = run.baseSeq === 0 ? 1 : (journal.find(({ epoch }) => epoch > 0)?.epoch ?? run.epoch);
  const epochs = Array.from({ length: Math.max(run.epoch - first + 1, 0) }, (_, i) => first + i);
  return epochs.slice(-MOST).map((epoch) => {
    const entries = journal.filter((entry) => entry.epoch === epoch);
    const last = entries.at(-1);
    const { holder = null, reclaimed = null } = known.find((claim) => claim.epoch === epoch) ?? {};
    const isHeld = run.state === "running" && epoch === run.epoch;
    const ended = isHeld ? "held" : reclaimed ? "reclaimed" : endOf(last?.kind);
    const times = { from: entries[0]?.at ?? null, to: last?.at ?? null };
    return { epoch, holder, entries: entries.length, ...times, ended, reclaimed };
  });
}

function endOf(kind: string | undefined): string {
  if (kind === undefined) return "reclaimed";
  if (kind === "start") return "continued as new";
  return GIVEN_BACK.includes(kind) || isEnded(kind as RunState) ? kind : "reclaimed";
}

/** Falls back to the beginning of the incarnation. */
export function nameOf({ name, incarnation }: Holder): string {
  return name ?? incarnation.slice(0, 8);
}

/** Which node reclaimed it, and when. */
export function reclaimedText({ at, by }: ReclaimedClaim, time: (at: number) => string): string {
  return `${by === null ? "on request" : `by ${nameOf(by)}`} at ${time(at)}`;
}

export function claimJson({ from, to, reclaimed, ...claim }: PastClaim): Readonly<Record<string, unknown>> {
  const times = { from: isoTime(from), to: isoTime(to) };
  return { ...claim, ...times, reclaimed: reclaimed && { ...reclaimed, at: isoTime(reclaimed.at) } };
}
