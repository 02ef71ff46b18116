// Reading runs.

import type { Attributes } from "../../../kernel/run/attribute.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { RunState } from "../../../kernel/run/run-state.js";
import type { JournalEntry } from "../journal/journal.js";
import type { Deferral } from "./deferrals.js";
import type { Misfit } from "./misfits.js";

export interface RunRecord {
  readonly id: string;
  readonly group: RunGroup;
  readonly state: RunState;
  readonly priority: number;
  readonly availableAt: number;
  readonly wakeAt: number | null;
  readonly epoch: number;
  readonly owner: string | null;
  readonly leaseUntil: number | null;
  readonly seq: number;
  readonly baseSeq: number;
  readonly generation: number;
  readonly inboxSeq: number;
  readonly failures: number;
  readonly crashes: number;
  readonly crashLimit: number;
  readonly parentId: string | null;
  /** How often it was reclaimed from an owner that died or hung, and from which incarnation last. */
  readonly recoveries: number;
  readonly recoveredFrom: string | null;
  /** Not null: it was started by a node that leaves the work to other nodes. */
  readonly deferred: Deferral | null;
  /** Null: it has none. */
  readonly attributes: Attributes | null;
  /** Not null: code that was tried in this generation does not fit its journal. */
  readonly misfit: Misfit | null;
  /** Tasks that it waits for: its needs, or, once it has started some, its own. */
  readonly pending: number;
  readonly createdAt: number;
  /** When it ended or was quarantined. */
  readonly endedAt: number | null;
  readonly archivedAt: number | null;
}

/** The part of a run that a waiting caller needs. */
export interface RunGlance {
  readonly state: RunState;
  readonly seq: number;
  /** Its last entry, when that is short; null: it has not ended, or `journal.peek` has to read it. */
  readonly end: JournalEntry | null;
  /** Builds whose code does not fit its journal; null: there are none. */
  readonly misfits: readonly string[] | null;
}

export interface RunFilter {
  readonly env: string;
  /** Omitted: all stacks. */
  readonly stack?: string;
  readonly states?: readonly RunState[];
  readonly program?: string;
  readonly queue?: string;
  readonly archived?: boolean;
  /** By the time in their ids: from (inclusive) and to (exclusive), in ms since 1970. */
  readonly from?: number;
  readonly to?: number;
  /** Held by this incarnation. */
  readonly owner?: string;
  /** Started by this run: its children and tasks. */
  readonly parent?: string;
  /** Started under a key that begins with this. */
  readonly keyPrefix?: string;
  /** With all of these attributes. */
  readonly attributes?: Attributes;
}

export interface RunPage {
  readonly runs: readonly RunRecord[];
  /** Pass as `before` to get the next page; null at the end. */
  readonly next: string | null;
}

export interface RunRecords {
  get(runId: string): Promise<RunRecord | null>;

  /** Many at once, in the order asked for; null when there is no such run. For callers that wait. Reads only. */
  glance(runIds: readonly string[]): Promise<readonly (RunGlance | null)[]>;

  /** Newest first, by pages. */
  list(filter: RunFilter, page: { readonly limit: number; readonly before?: string }): Promise<RunPage>;

  count(filter: RunFilter): Promise<Readonly<Partial<Record<RunState, number>>>>;
}
