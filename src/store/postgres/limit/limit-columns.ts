// The limits of a batch of runs as the arrays that the statements unnest.

import type { NewRun } from "../../../kernel/run/new-run.js";

export const LIMIT = ["int", "int", "text", "text", "int", "float8", "text"];
export const LIMIT_COLUMNS = "run, stage, key, kind, max, per_ms, overflow";

type LimitedRun = Pick<NewRun, "group" | "limits">;

export const isLimited = (run: Pick<NewRun, "limits">): boolean => (run.limits?.length ?? 0) > 0;

/** `run` counts the runs of the batch from 1. Keys are an env's own. */
export function limitColumns(runs: readonly LimitedRun[]): unknown[][] {
  const columns: unknown[][] = LIMIT.map(() => []);
  runs.forEach(({ group, limits = [] }, r) => {
    limits.forEach(({ key, kind, max, perMs, overflow }, i) => {
      const row = [r + 1, i + 1, `${group.env}/${key}`, kind, max, kind === "rate" ? perMs : null, overflow ?? null];
      for (let k = 0; k < row.length; k++) columns[k]!.push(row[k]);
    });
  });
  return columns;
}
