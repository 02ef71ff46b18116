// Reading runs.

import type { Attributes } from "../../../kernel/run/attribute.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { RunState } from "../../../kernel/run/run-state.js";
import type { JournalEntry } from "../journal/journal.js";
import type { Deferral } from "./deferrals.js";
import type { Misfit } from "./misfits.js";

/** A run as it is stored. Times are ms since 1970 on the database's clock. */
export interface RunRecord {
  /** The id of the run; sorts by time. */
  readonly id: string;
  /** Env, stack, queue, program and version pin. */
  readonly group: RunGroup;
  /** Its state. */
  readonly state: RunState;
  /** Lower runs first. */
  readonly priority: number;
  /** When it may be claimed. */
  readonly availableAt: number;
  /** When it wakes by itself; null: only by a message, or it is not parked. */
  readonly wakeAt: number | null;
  /** How often it was claimed. */
  readonly epoch: number;
  /** The incarnation that holds it; null: none does. */
  readonly owner: string | null;
  /** When the claim expires; null: there is none. */
  readonly leaseUntil: number | null;
  /** The sequence of its last journal entry. */
  readonly seq: number;
  /** The sequence before its current generation. */
  readonly baseSeq: number;
  /** 0 for a run as it was started; one higher each time it continues as new or is retried. */
  readonly generation: number;
  /** The sequence of the last message it has taken. */
  readonly inboxSeq: number;
  /** How often it failed since it was started or retried. */
  readonly failures: number;
  /** Claims in a row whose holder died. */
  readonly crashes: number;
  /** How many of them make it dead. */
  readonly crashLimit: number;
  /** The run that started it; null: none did. */
  readonly parentId: string | null;
  /** How often it was reclaimed from an owner that died or hung, and from which incarnation last. */
  readonly recoveries: number;
  /** The incarnation it was reclaimed from last; null: it never was. */
  readonly recoveredFrom: string | null;
  /** Not null: it was started by a node that leaves the work to other nodes. */
  readonly deferred: Deferral | null;
  /** Null: it has none. */
  readonly attributes: Attributes | null;
  /** Not null: code that was tried in this generation does not fit its journal. */
  readonly misfit: Misfit | null;
  /** Tasks that it waits for: its needs, or, once it has started some, its own. */
  readonly pending: number;
  /** When it was started. */
  readonly createdAt: number;
  /** When it ended or was quarantined. */
  readonly endedAt: number | null;
  /** When it was archived; null: it was not. */
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
  /** Started by a node that leaves the work to other nodes, whether one has taken it or not. */
  readonly deferred?: true;
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
