// A run as JSON: the record, with its times as ISO 8601.

import type { RunRecord } from "../store/contract/run/runs.js";
import { isoTime } from "./text/time-ago.js";

export function runJson(run: RunRecord): Readonly<Record<string, unknown>> {
  const { group, availableAt, wakeAt, leaseUntil, createdAt, endedAt, archivedAt, deferred, ...rest } = run;
  return {
    ...rest,
    ...group,
    deferred: deferred && { ...deferred, expiresAt: isoTime(deferred.expiresAt), takenAt: isoTime(deferred.takenAt) },
    availableAt: isoTime(availableAt),
    wakeAt: isoTime(wakeAt),
    leaseUntil: isoTime(leaseUntil),
    createdAt: isoTime(createdAt),
    endedAt: isoTime(endedAt),
    archivedAt: isoTime(archivedAt),
  };
}
