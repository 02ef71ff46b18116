// A run of the admin API for a model: few fields, and in words why it does not move.

import type { OutputOf } from "../../admin/api.js";
import type { OutlineEntry } from "../../store/contract/view/views.js";
import { NO_REASONS } from "../run-reasons.js";
import { type Described, situation } from "../run-situation.js";

type Row = OutputOf<"runs.list">["rows"][number];
type Detail = OutputOf<"runs.get">;
type Entry = OutputOf<"runs.journal">["entries"][number];

/** What is known of a run next to its row. */
export interface Known {
  /** Its last entries. */
  readonly entries: readonly Entry[];
  /** Who paused its queue. */
  readonly pausedBy?: string | undefined;
  readonly detail?: Pick<Detail, "waitsFor" | "liveBuilds" | "deferred">;
}

export function why(row: Row, { entries, pausedBy, detail }: Known, now: number): string {
  const last = entries.map((entry): OutlineEntry => ({ ...entry, at: Date.parse(entry.at) }));
  const reasons = {
    ...NO_REASONS,
    last: new Map([[row.id, last]]),
    ...(detail?.waitsFor && { limits: new Map([[row.id, detail.waitsFor]]) }),
    ...(pausedBy !== undefined && { pausedQueues: new Map([[row.queue, pausedBy]]) }),
  };
  const around = {
    holder: (incarnation: string) => row.ownerName ?? incarnation.slice(0, 8),
    lacksNode: () => row.noCapableNode,
    builds: () => detail?.liveBuilds ?? [],
    reasons,
  };
  return situation(described(row, detail), around, now);
}

function described(row: Row, detail: Known["detail"]): Described {
  const { env, stack, queue, program, version, availableAt, wakeAt, leaseUntil, endedAt, ...rest } = row;
  const deferred = detail?.deferred ?? null;
  return {
    ...rest,
    group: { env, stack, queue, program, version },
    availableAt: Date.parse(availableAt),
    wakeAt: ms(wakeAt),
    leaseUntil: ms(leaseUntil),
    endedAt: ms(endedAt),
    deferred: deferred && { ...deferred, expiresAt: ms(deferred.expiresAt), takenAt: ms(deferred.takenAt) },
  };
}

function ms(time: string | null): number | null {
  return time === null ? null : Date.parse(time);
}

/** One line of a list. */
export function runLine(row: Row, entries: readonly Entry[], now: number) {
  const { id, program, state, createdAt, key, queue } = row;
  return {
    id,
    program,
    ...(queue !== program && { queue }),
    state,
    createdAt,
    key,
    now: why(row, { entries }, now),
  };
}

/** Without what the entries of one claim have in common. */
export function entryLine({ seq, epoch, kind, name, key, at, bytes }: Entry) {
  return {
    seq,
    at,
    kind,
    ...(name !== "" && { name }),
    ...(key !== null && key !== "1" && { key }),
    claim: epoch,
    bytes,
  };
}
