// The limits of a batch of runs as parameters of a statement.

import type { NewLimit, NewRun } from "../../../kernel/run/new-run.js";
import { float8, int, rowset, text } from "../connection/rowset.js";

interface RunLimit {
  readonly run: number;
  readonly stage: number;
  readonly key: string;
  readonly rule: NewLimit;
}

/** `run` is the place of the run in its batch, counted from 1. A key belongs to its env. */
export const LIMITS = rowset<RunLimit>()({
  run: int(({ run }) => run),
  stage: int(({ stage }) => stage),
  key: text(({ key }) => key),
  kind: text(({ rule }) => rule.kind),
  max: int(({ rule }) => rule.max),
  per_ms: float8(({ rule }) => (rule.kind === "rate" ? rule.perMs : null)),
  overflow: text(({ rule }) => rule.overflow ?? null),
});

type LimitedRun = Pick<NewRun, "group" | "limits">;

export const isLimited = (run: Pick<NewRun, "limits">): boolean => (run.limits?.length ?? 0) > 0;

export function limitColumns(runs: readonly LimitedRun[]): unknown[] {
  return LIMITS.arrays(
    runs.flatMap(({ group, limits = [] }, r) =>
      limits.map((rule, i) => ({ run: r + 1, stage: i + 1, key: `${group.env}/${rule.key}`, rule })),
    ),
  );
}
