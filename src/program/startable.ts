// What the start of a run needs to know of its program.

import type { LimitRule } from "../kernel/limit-rule.js";
import type { Recovery } from "../kernel/run/recovery.js";
import type { Schema } from "./schema.js";

export interface Startable {
  readonly name: string;
  /** Where its runs wait. */
  readonly queue: string;
  readonly version: string | null;
  readonly schema: Schema | null;
  /** Narrow to wide. */
  readonly limits: readonly LimitRule[];
  /** What becomes of its runs when their holder died; not given, because the code is not there: as its nodes declared. */
  readonly recovery?: Recovery;
  /** Served only by nodes of these stacks; not given: by any. */
  readonly stacks?: readonly string[];
}

/** A node of no stack serves whatever it is given. */
export function isServedIn(stack: string | null, { stacks }: Pick<Startable, "stacks">): boolean {
  return stacks === undefined || stack === null || stacks.includes(stack);
}
