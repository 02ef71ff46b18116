// Compares the paths of two graph runs, node by node. Pure.

import { isDeepStrictEqual } from "node:util";
import type { Visit } from "./graph-history.js";

/** Two runs at the same step of their paths; `same`: the same node with the same changes. */
export interface StepDiff {
  /** The position in both paths, from 0. */
  readonly index: number;
  /** Whether both runs did the same here. */
  readonly same: boolean;
  /** The visit of the first run; null after its end. */
  readonly left: Visit | null;
  /** The visit of the second run; null after its end. */
  readonly right: Visit | null;
  /** The fields that only one of the nodes changed, or that they changed to different values. */
  readonly fields: readonly FieldDiff[];
}

/** A field of the state that two visits changed differently. */
export interface FieldDiff {
  /** The name of the field. */
  readonly field: string;
  /** What the first run wrote; undefined when it wrote nothing. */
  readonly left: unknown;
  /** What the second run wrote; undefined when it wrote nothing. */
  readonly right: unknown;
}

/** The paths of two graph runs, compared node by node. */
export interface RunDiff {
  /** Length of the common prefix, in nodes. */
  readonly common: number;
  /** Both paths side by side. */
  readonly steps: readonly StepDiff[];
}

export function diffHistories(left: readonly Visit[], right: readonly Visit[]): RunDiff {
  const steps = Array.from({ length: Math.max(left.length, right.length) }, (_, index): StepDiff => {
    const [a = null, b = null] = [left[index], right[index]];
    const fields = fieldDiffs(a?.updates ?? {}, b?.updates ?? {});
    const same = a?.position === b?.position && a?.next === b?.next && fields.length === 0;
    return { index, same, left: a, right: b, fields };
  });
  const first = steps.findIndex(({ same }) => !same);
  return { common: first === -1 ? steps.length : first, steps };
}

function fieldDiffs(left: Visit["updates"], right: Visit["updates"]): readonly FieldDiff[] {
  const fields = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return fields
    .filter((field) => !isDeepStrictEqual(left[field], right[field]))
    .map((field) => ({ field, left: left[field], right: right[field] }));
}
