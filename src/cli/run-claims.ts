// The claims a run was worked on under, told from what each of them wrote: when, how much, and how it ended.

import { isEnded, type RunState } from "../kernel/run-state.js";
import type { JournalEntry } from "../store/contract/journal.js";
import type { RunRecord } from "../store/contract/runs.js";

export interface PastClaim {
  readonly epoch: number;
  /** Written under it, in this generation. */
  readonly entries: number;
  /** When the first and the last of them were written; null when there is none. */
  readonly from: number | null;
  readonly to: number | null;
  /** `taken back`: its holder died or hung, and did not give it back itself. */
  readonly ended: string;
}

const GIVEN_BACK: readonly string[] = ["parked", "retry", "handed-back", "paused"];
/** A run may have been claimed a thousand times; the last ones tell what is wrong. */
const MOST = 20;

export function claimsOf(
  journal: readonly JournalEntry[],
  run: Pick<RunRecord, "epoch" | "state" | "baseSeq">,
): PastClaim[] {
  // In a later generation, claims before its first entry belong to an earlier one.
  const first = run.baseSeq === 0 ? 1 : (journal.find(({ epoch }) => epoch > 0)?.epoch ?? run.epoch);
  const epochs = Array.from({ length: Math.max(run.epoch - first + 1, 0) }, (_, i) => first + i);
  return epochs.slice(-MOST).map((epoch) => {
    const entries = journal.filter((entry) => entry.epoch === epoch);
    const last = entries.at(-1);
    const isHeld = run.state === "running" && epoch === run.epoch;
    const ended = isHeld ? "held" : endOf(last?.kind);
    return { epoch, entries: entries.length, from: entries[0]?.at ?? null, to: last?.at ?? null, ended };
  });
}

function endOf(kind: string | undefined): string {
  if (kind === undefined) return "taken back";
  if (kind === "start") return "began anew";
  return GIVEN_BACK.includes(kind) || isEnded(kind as RunState) ? kind : "taken back";
}
