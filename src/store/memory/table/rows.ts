// The rows of the memory store: the columns of the PostgreSQL schema under their TypeScript names.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { ModeState } from "../../../kernel/node-mode.js";
import type { LimitKind, Overflow, RunGroup } from "../../../kernel/run/new-run.js";
import type { Recovery } from "../../../kernel/run/recovery.js";
import type { RunState } from "../../../kernel/run/run-state.js";
import type { NewAuditRow } from "../../contract/audit/audit.js";
import type { NewToken } from "../../contract/audit/tokens.js";
import type { TakenBackAs } from "../../contract/claim/claims.js";
import type { DefinitionRecord, OlderDefinition } from "../../contract/definition/definitions.js";
import type { Message } from "../../contract/inbox/inbox.js";
import type { JournalEntry } from "../../contract/journal/journal.js";
import type { LoadedInstance, NewInstanceEvent, TimerRecord } from "../../contract/machine/machines.js";
import type { NodeExecutor, NodeRegistration } from "../../contract/node/nodes.js";
import type { NodeVitals, ProgramFacts } from "../../contract/node/programs.js";
import type { QueueFigures, RunFigures, StepMs } from "../../contract/statistic/statistics.js";
import type { TimeoutRecord } from "../../contract/timeout/timeouts.js";
import type { Stored } from "./micros.js";

export interface RunRow {
  readonly id: string;
  readonly groupId: number;
  readonly group: RunGroup;
  readonly priority: number;
  readonly crashLimit: number;
  /** Null: what was declared for its group. */
  readonly recovery: Recovery | null;
  readonly parentId: string | null;
  readonly createdAtUs: number;
  readonly limited: boolean;
  /** The number of tasks it waits for. */
  pending: number;
  /** A task whose end is still to be counted. */
  counts: boolean;
  /** Running, and to be paused when it is released. */
  pausing: boolean;
  state: RunState;
  availableAtUs: number;
  wakeAtUs: number | null;
  wakeAfter: number;
  epoch: number;
  token: string | null;
  owner: string | null;
  leaseUntilUs: number | null;
  seq: number;
  baseSeq: number;
  generation: number;
  inboxSeq: number;
  failures: number;
  crashes: number;
  /** Replaced, not pushed to. */
  misfits: readonly string[] | null;
  endedAtUs: number | null;
  archivedAtUs: number | null;
}

/** Exists next to a run with misfits, until it has ended. */
export interface MisfitRow {
  readonly runId: string;
  readonly wanted: string | null;
  readonly lookAtUs: number;
}

/** A claim that was reclaimed from its holder. */
export interface TakenClaimRow {
  readonly epoch: number;
  readonly owner: string;
  readonly by: string | null;
  readonly outcome: TakenBackAs;
  readonly atUs: number;
  /** Counts as one of the run's crashes; false once its holder showed a sign of life. */
  readonly counted: boolean;
  /** How many live holders in a row had lost the run before this one. */
  readonly losses: number;
  /** Commits of its holder that came too late. */
  readonly refused: number;
}

/** One stage of a run's limits. */
export interface LimitRow {
  readonly runId: string;
  readonly stage: number;
  /** Prefixed with the env. */
  readonly key: string;
  readonly kind: LimitKind;
  readonly max: number;
  readonly perMs: number | null;
  readonly overflow: Overflow | null;
  state: "later" | "waits" | "granted" | "passed";
  priority: number;
  availableAtUs: number;
}

export interface PausedQueueRow {
  readonly env: string;
  readonly queue: string;
  readonly atUs: number;
  readonly by: string;
}

export interface ScheduleRow {
  readonly id: string;
  readonly key: string;
  group: RunGroup;
  spec: string;
  readonly anchorMs: number;
  lastMs: number;
  nextMs: number | null;
  pausedAtUs: number | null;
  pausedBy: string | null;
  seenAtUs: number;
}

export interface JournalRow extends Stored<JournalEntry, "at"> {
  /** Null: written by the store itself. Identifies a repeated commit. */
  readonly token: string | null;
}

export interface MessageRow extends Stored<Message, "at"> {
  readonly id: number;
  /** The journal entry that took it in; null: unread. */
  takenSeq: number | null;
}

/** Replaced as a whole, never changed: a transaction detects by identity that its key was taken meanwhile. */
export interface KeyRow {
  readonly env: string;
  readonly scope: string;
  readonly key: string;
  readonly runId: string;
  readonly payloadHash: string;
  readonly lifetime: "live" | "archived" | "timed";
  readonly untilUs: number | null;
}

export interface KeptRow {
  readonly env: string;
  readonly space: string;
  readonly key: string;
  readonly value: Payload;
  readonly atUs: number;
  readonly untilUs: number | null;
}

export interface LeaseRow {
  readonly env: string;
  readonly key: string;
  state: "claimed" | "done" | "failed";
  owner: string;
  epoch: number;
  /** null: finished, released or reclaimed. */
  token: string | null;
  /** Token of the call that completed, failed or released it: the same call repeated finds its own effect. */
  finishedToken: string | null;
  attempt: number;
  leaseUntilUs: number;
  acquiredAtUs: number;
  finishedAtUs: number | null;
  detail: string | null;
}

export interface NodeRow
  extends Omit<NodeRegistration, "heartbeatMs" | "leaseMs" | "presenceGraceMs" | "reclaims" | "mode" | "programs"> {
  readonly serves: readonly number[];
  readonly executors: readonly NodeExecutor[];
  readonly alone: boolean;
  claims: readonly number[];
  modes: ModeState;
  readonly heartbeatMs: number | null;
  readonly leaseMs: number | null;
  readonly presenceGraceMs: number | null;
  /** Whether it has attended; and since when its presence is missing. */
  attends: boolean;
  absentSinceUs: number | null;
  readonly startedAtUs: number;
  seenAtUs: number;
  stoppedAtUs: number | null;
  /** By group: what it declares. Replaced as a whole. */
  declared: ReadonlyMap<number, string>;
  /** Whether it has declared which events start its programs. */
  declares: boolean;
  vitals: NodeVitals | null;
}

export interface ProgramRow extends ProgramFacts {
  readonly env: string;
  readonly atUs: number;
}

/** Which run may probe while a circuit breaker is half-open. */
export interface ProbeRow {
  readonly env: string;
  readonly program: string;
  readonly opening: string;
  readonly n: number;
  readonly runId: string;
  readonly atUs: number;
}

/** Replaced as a whole. */
export type DefinitionRow = Stored<DefinitionRecord, "at">;

/** The content of one version of a definition. Never changed. */
export interface DefinitionVersionRow extends OlderDefinition {
  readonly programs: readonly string[];
}

/** Replaced as a whole. */
export interface DebounceRow {
  readonly env: string;
  readonly subscription: string;
  readonly subject: string;
  readonly runId: string;
  readonly lastAtUs: number;
  readonly payload: Payload;
}

export interface KeptModeRow extends Omit<ModeState, "drain"> {
  readonly env: string;
  readonly identity: string;
  readonly atUs: number;
  readonly by: string;
}

export interface DeferredRow {
  readonly runId: string;
  readonly by: string;
  readonly expiresAtUs: number | null;
  takenBy: string | null;
  takenAtUs: number | null;
  pending: boolean;
}

/** Replaced as a whole, never changed: a transaction detects by identity that it was written meanwhile. */
export interface TimeoutRow extends Stored<Omit<TimeoutRecord, "dead">, "deadline" | "createdAt" | "claimedUntil"> {
  /** The deadline; while claimed, when the claim expires; after a failure, when to try again; null: given up. */
  readonly dueAtUs: number | null;
  readonly token: string | null;
  readonly releasedToken: string | null;
}

/** Replaced as a whole. */
export interface InstanceRow extends Stored<LoadedInstance, "createdAt" | "updatedAt" | "endedAt"> {
  readonly groupId: number;
  readonly inputHash: string;
}

export interface InstanceEventRow extends NewInstanceEvent {
  readonly seq: number;
  readonly token: string;
  readonly atUs: number;
}

/** Replaced as a whole. */
export interface TimerRow extends Stored<TimerRecord, "dueAt" | "tryAt"> {
  readonly groupId: number;
  readonly claimedUntilUs: number | null;
  readonly claimedBy: string | null;
}

/** Never changed. */
export interface AuditTableRow extends NewAuditRow {
  readonly atUs: number;
}

/** Replaced as a whole. */
export interface TokenRow extends Omit<NewToken, "expiresInMs"> {
  readonly createdAtUs: number;
  readonly expiresAtUs: number | null;
  readonly lastUsedAtUs: number | null;
  readonly revokedAtUs: number | null;
}

/** Program and queue are empty in the sum of an env. Replaced as a whole. */
export interface RunFigureRow extends RunFigures {
  readonly env: string;
  readonly stepMs: StepMs;
  readonly program: string;
  readonly queue: string;
}

/** The queue is empty in the sum of an env. Replaced as a whole. */
export interface QueueFigureRow extends QueueFigures {
  readonly env: string;
  readonly stepMs: StepMs;
  readonly queue: string;
}
