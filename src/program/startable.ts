// What starting a run needs to know about its program.

import type { LimitRule } from "../kernel/limit-rule.js";
import type { Recovery } from "../kernel/run/recovery.js";
import type { Schema } from "./schema.js";

/** What a start needs to know of a program. */
export interface Startable {
  /** The name of the program. */
  readonly name: string;
  /** The queue of its runs. */
  readonly queue: string;
  /** The version that new runs are pinned to; null: none. */
  readonly version: string | null;
  /** Checks and transforms the input; null: it is taken as it is. */
  readonly schema: Schema | null;
  /** Narrow to wide. */
  readonly limits: readonly LimitRule[];
  /** What happens to its runs when their holder died; omitted without the program's code: as its nodes declared. */
  readonly recovery?: Recovery;
  /** Served only by nodes of these stacks; omitted: by any. */
  readonly stacks?: readonly string[];
}

/** A node without a stack serves all its programs. */
export function isServedIn(stack: string | null, { stacks }: Pick<Startable, "stacks">): boolean {
  return stacks === undefined || stack === null || stacks.includes(stack);
}
