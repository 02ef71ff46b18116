// What the start of a run needs to know of its program.

import type { LimitRule } from "../kernel/limit-rule.js";
import type { Schema } from "./schema.js";

export interface Startable {
  readonly name: string;
  /** Where its runs wait. */
  readonly queue: string;
  readonly version: string | null;
  readonly schema: Schema | null;
  /** Narrow to wide. */
  readonly limits: readonly LimitRule[];
  /** Served only by nodes of these stacks; not given: by any. */
  readonly stacks?: readonly string[];
}

/** A node of no stack serves whatever it is given. */
export function isServedIn(stack: string | null, { stacks }: Pick<Startable, "stacks">): boolean {
  return stacks === undefined || stack === null || stacks.includes(stack);
}
