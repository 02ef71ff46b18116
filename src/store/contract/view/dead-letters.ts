// Dead letters: runs that failed, died or are quarantined, with the code of their error, listed and grouped.

import type { JournalEntry } from "../journal/journal.js";
import type { Counted, ViewPage, ViewRequest } from "./page.js";

export const DEAD_STATES = ["failed", "dead", "quarantined"] as const;
export type DeadState = (typeof DEAD_STATES)[number];

export interface DeadLetterRequest extends ViewRequest {
  readonly program?: string;
  readonly queue?: string;
  /** Only runs in one of these states. @default all of them */
  readonly states?: readonly DeadState[];
}

export interface DeadLetterRow {
  readonly runId: string;
  readonly program: string;
  readonly queue: string;
  readonly state: DeadState;
  readonly endedAt: number;
  /** The code of the error that it ended with, else its name; null: there is none, or another codec than `json` wrote it. */
  readonly code: string | null;
  /** Its last entry, which holds the error. */
  readonly entry: JournalEntry | null;
}

export interface DeadGroup {
  readonly program: string;
  readonly state: DeadState;
  readonly code: string | null;
  readonly n: number;
  readonly newest: number;
  readonly oldest: number;
  /** The newest runs of the group. */
  readonly examples: readonly string[];
}

export const DEAD_EXAMPLES = 5;

export interface DeadLetterViews {
  /** The last to end first. */
  deadLetters(request: DeadLetterRequest & { readonly code?: string }): Promise<ViewPage<DeadLetterRow>>;

  /** The last `limit` letters by program, state and code; the largest group first. `looked`: how many letters were grouped. */
  deadGroups(request: DeadLetterRequest): Promise<{ readonly groups: readonly DeadGroup[]; readonly looked: Counted }>;
}
