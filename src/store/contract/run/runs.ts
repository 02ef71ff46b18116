// Runs: inserted once, claimed by one holder at a time, moved on only by that holder's fenced commits.
// Every operation is atomic by itself and may be repeated after an unanswered COMMIT.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { HoldfastError } from "../../../kernel/error.js";
import type { LimitRule } from "../../../kernel/limit-rule.js";
import type { Claim } from "../../../kernel/run/claim.js";
import type { DebounceTicket } from "../../../kernel/run/debounce-ticket.js";
import type { Effect } from "../../../kernel/run/effect.js";
import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { Recovery } from "../../../kernel/run/recovery.js";
import type { EndedState, RunState } from "../../../kernel/run/run-state.js";
import type { ClaimRecord, TakenBackAs } from "../claim/claims.js";
import type { Orphan, OrphanFilter, RecoveryDecision } from "../claim/recovery.js";
import type { Given, JournalEntry } from "../journal/journal.js";
import type { Transaction } from "../transaction.js";
import type { Misfit, MisfitReview, MisfitReviewed } from "./misfits.js";
import type { RetryAnswer, RetryCall } from "./retry.js";

export type InsertAnswer =
  | { readonly outcome: "inserted"; readonly runId: string }
  | { readonly outcome: "existing"; readonly runId: string }
  | { readonly outcome: "conflict"; readonly runId: string }
  | { readonly outcome: "refused"; readonly runId: string; readonly error: HoldfastError };

/** Runs whose keys are looked at, or how many keys of an env are looked at in one call. */
export type Admission = { readonly runIds: readonly string[] } | { readonly env: string; readonly keys: number };

export interface ClaimRequest {
  /** The node's incarnation. */
  readonly owner: string;
  /** Drawn by the caller for this call: repeating the call returns what it already holds. */
  readonly token: string;
  readonly groupIds: readonly number[];
  readonly limit: number;
  readonly leaseMs: number;
  /**
   * How many suspects it may be granted: none, or one at most, of which the first in line. Omitted: any number, for a caller
   * that executes each run in a process of its own.
   */
  readonly suspects?: 0 | 1;
  /** The node's build: runs that it was found not to fit are left to others. */
  readonly build?: string | null;
}

export interface ClaimedRun extends Claim {
  readonly groupId: number;
  readonly priority: number;
  readonly seq: number;
  /** The journal before this belongs to earlier generations. */
  readonly baseSeq: number;
  readonly generation: number;
  readonly inboxSeq: number;
  /** Failures so far: this is attempt `failures + 1`. */
  readonly failures: number;
  /** Claims in a row without committed progress, this one included. */
  readonly crashes: number;
  /** It has crashed so often before (`suspectFrom`) that it is to be executed alone. */
  readonly suspect: boolean;
  readonly parentId: string | null;
  /** It has limits: when its claim is given back, others may be admitted. */
  readonly limited: boolean;
  /** It is a task: its end is counted in those that wait for it. */
  readonly counts: boolean;
  /** Of a task: what its parent was started with and its needs ended with, as far as it is short. */
  readonly given: readonly Given[];
  readonly input: Payload;
  /** Not null: it gathers the events of a subject, and its input is still to be taken. */
  readonly debounce: DebounceTicket | null;
  /** The node that started it for others to work on; null: it was not deferred. */
  readonly deferredBy: string | null;
  /** Whether its inbox had unread messages when it was granted. */
  readonly hasMessages: boolean;
  /** The database's clock when it was granted: what deadlines in the journal are compared with. */
  readonly claimedAt: number;
}

export type RenewAnswer =
  | { readonly outcome: "held"; readonly inboxSeq: number }
  /** The row was locked by another statement: ask again. */
  | { readonly outcome: "busy" }
  | { readonly outcome: "lost" };

export interface Commit {
  readonly claim: Claim;
  /** The run's sequence as the holder knows it; the first effect is written at `expectedSeq + 1`. */
  readonly expectedSeq: number;
  /** At least one; a settling effect only as the last. */
  readonly effects: readonly Effect[];
}

export type CommitAnswer =
  | { readonly outcome: "accepted"; readonly seq: number; readonly inboxSeq: number }
  /** This very commit was written before; its reply had been lost. */
  | { readonly outcome: "recorded"; readonly seq: number }
  /** The row was locked by another statement: send it again. */
  | { readonly outcome: "busy" }
  /** The claim is held, but the journal is at another sequence: reload. */
  | { readonly outcome: "moved"; readonly seq: number }
  | { readonly outcome: "lost" }
  /** The data of this commit cannot be stored; its neighbours were not affected. */
  | { readonly outcome: "refused"; readonly error: HoldfastError };

export interface Reclaimed {
  readonly runId: string;
  readonly outcome: TakenBackAs;
  /** The incarnation that held it; whose it was, when that is registered. */
  readonly previousOwner: string;
  readonly previousIdentity: string | null;
  readonly previousName: string | null;
  readonly epoch: number;
  /** Claims in a row whose holder died, this one included; a holder that was heard of again does not count. */
  readonly crashes: number;
  /** How long the lease had been over; less than nothing when its node was missed before that. */
  readonly expiredForMs: number;
  /** How long ago the claim was granted or last renewed; null when its owner did not say how long it leases. */
  readonly renewedAgoMs: number | null;
}

export type CancelAnswer =
  | { readonly outcome: "cancelled" }
  /** The run is running: its holder finds the request in the inbox. */
  | { readonly outcome: "requested" }
  | { readonly outcome: "ended"; readonly state: EndedState }
  | { readonly outcome: "unknown" };

export type PauseAnswer =
  | { readonly outcome: "paused" }
  /** It, or a task of it, is running: its holder was told to stop. */
  | { readonly outcome: "requested" }
  | { readonly outcome: "ended"; readonly state: EndedState }
  | { readonly outcome: "unknown" };

/** How far a cancel or a pause of a run and its tasks has come. */
export interface StopProgress {
  /** Of the run itself. */
  readonly state: RunState;
  /** Of it and its tasks: those that are running. */
  readonly running: number;
  /** Of it and its tasks: those that have the request in their inbox and have not taken it in. */
  readonly unanswered: number;
}

export type ResumeAnswer =
  | { readonly outcome: "resumed" }
  | { readonly outcome: "not paused"; readonly state: RunState }
  | { readonly outcome: "unknown" };

/** `replayed`: rows whose count of open needs was wrong and is right now. `skipped`: rows that were as they should be. */
export interface Reconciled {
  readonly replayed: number;
  readonly skipped: number;
}

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
  /** How often it was taken back from an owner that died or hung, and from which incarnation last. */
  readonly recoveries: number;
  readonly recoveredFrom: string | null;
  /** Not null: a node started it that leaves the work to others. */
  readonly deferred: Deferral | null;
  /** Not null: code that was tried in this generation does not fit its journal. */
  readonly misfit: Misfit | null;
  /** Tasks that it waits for: its needs, or, once it has started some, its own. */
  readonly pending: number;
  readonly createdAt: number;
  /** When it ended or was quarantined. */
  readonly endedAt: number | null;
  readonly archivedAt: number | null;
}

/** What a caller that waits for a run has to know of it. */
export interface RunGlance {
  readonly state: RunState;
  readonly seq: number;
  /** What it ended with, when that is short; null: it has not ended, or `journal.peek` has to be asked. */
  readonly end: JournalEntry | null;
  /** Builds whose code does not fit its journal; null: there are none. */
  readonly misfits: readonly string[] | null;
}

/** A deferred run that nobody took in time. */
export interface ExpiredRun {
  readonly runId: string;
  readonly program: string;
  readonly stack: string | null;
  /** The node that had asked for it. */
  readonly by: string;
}

/** Its life: pending while nobody took it, then claimed; it ends with its run, or expires. The stack is its group's. */
export interface Deferral {
  /** The node that asked. */
  readonly by: string;
  readonly expiresAt: number | null;
  /** Who took it first, by incarnation, and when. */
  readonly takenBy: string | null;
  readonly takenAt: number | null;
}

/** Why a deferred run was cancelled that nobody took. */
export const DEFERRED_EXPIRED = "DEFERRED_EXPIRED";

export interface StackQuery {
  readonly env: string;
  /** Which other stacks; null: all of them. */
  readonly stacks: readonly string[] | null;
  /** Not this one. */
  readonly own: string | null;
  /** Of which programs. */
  readonly programs: readonly Pick<RunGroup, "queue" | "program" | "version">[];
}

export interface RunFilter {
  readonly env: string;
  /** Omitted: all stacks. */
  readonly stack?: string;
  readonly states?: readonly RunState[];
  readonly program?: string;
  readonly queue?: string;
  readonly archived?: boolean;
}

export interface RunPage {
  readonly runs: readonly RunRecord[];
  /** Pass as `before` to get the next page; null at the end. */
  readonly next: string | null;
}

/** What a program asks of its runs, told by the nodes that have its code. */
export interface DeclaredProgram {
  readonly group: RunGroup;
  readonly limits: readonly LimitRule[];
  readonly recovery?: Recovery;
}

/** Two nodes that take runs of one group have declared different things. */
export interface DeclarationConflict {
  readonly group: RunGroup;
  readonly of: readonly ("limits" | "recovery")[];
  /** The identity of the node whose declaration holds, and of the one whose does not. */
  readonly holds: string;
  readonly overruled: string;
}

export interface RunStore {
  /** The numbers of these groups, in the same order; made when new. */
  groupIds(groups: readonly RunGroup[]): Promise<readonly number[]>;

  /**
   * What a registered node's code asks, for runs whose start does not say it. Only groups that the node serves and takes runs of now
   * count: one that is disabled, leaves the work to others or has stopped changes nothing. Of two such nodes the one that
   * started later decides, and the older one when that one is gone. May be repeated at any time. Answers where another that
   * is there has declared something else.
   */
  declare(incarnation: string, programs: readonly DeclaredProgram[]): Promise<readonly DeclarationConflict[]>;

  /** What was declared; empty when nobody did. */
  limitsOf(group: RunGroup): Promise<readonly LimitRule[]>;

  /** With a transaction: only INSERTs, visible when the caller commits. Answers stand in the order of the runs. */
  insert(runs: readonly NewRun[], options?: { readonly tx?: Transaction }): Promise<readonly InsertAnswer[]>;

  /**
   * Lets held runs go on as far as their limits allow: those that share a key with the given runs, or whoever is next,
   * keys in turn. Answers how many became claimable. Inserts, cancels and messages outside a transaction do it by
   * themselves; after a commit, a wake-up or a sweep it is the caller's to ask, and forgetting it costs time only.
   */
  admit(whom: Admission): Promise<number>;

  claim(request: ClaimRequest): Promise<readonly ClaimedRun[]>;

  renew(claims: readonly Claim[], leaseMs: number): Promise<readonly RenewAnswer[]>;

  /** At most one commit per run and claim in a call. Answers stand in the order of the commits. */
  commit(commits: readonly Commit[]): Promise<readonly CommitAnswer[]>;

  /**
   * A transaction of the store's own for a step: `work` makes its statements in it and answers the commit, entries only,
   * that is written as its last statement. Both are there or neither. Anything but `accepted` and `recorded` was rolled
   * back; so was what `work` threw over. Rejects with StoreUnavailable when it can simply be tried again.
   */
  transact(work: (tx: Transaction) => Promise<Commit>): Promise<CommitAnswer>;

  /**
   * Takes back the claims of an env whose lease is over, as their program's recovery policy says, or `dead` at the crash limit.
   * Executes nothing.
   */
  sweepExpired(options: { readonly env: string; readonly limit: number }): Promise<readonly Reclaimed[]>;

  /** Running runs whose lease has been over for so long, by id: for whoever decides on each of them. Reads only. */
  orphans(filter: OrphanFilter): Promise<readonly Orphan[]>;

  /**
   * Takes back these, each as decided, if it is still the same claim and its lease still over. Of two who decide on one
   * orphan, one acts; the other is not told of it. Executes nothing.
   */
  recover(decisions: readonly RecoveryDecision[], options: { readonly staleMs: number }): Promise<readonly Reclaimed[]>;

  /**
   * Looks at runs that some code does not fit: quarantined ones that a live node has not tried are claimable again, and waiting
   * ones that every live node of their group has tried are quarantined. Bounded, within one env. Executes nothing.
   */
  reviewMisfits(review: MisfitReview): Promise<readonly MisfitReviewed[]>;

  /** Cancels deferred runs of an env that no node took in time. Answers them. */
  expireDeferred(options: { readonly env: string; readonly limit: number }): Promise<readonly ExpiredRun[]>;

  /**
   * The groups of these programs in other stacks from which no live node of that stack takes runs: what was started there
   * is left to whoever offers. Reads only.
   */
  unservedGroups(query: StackQuery): Promise<readonly { readonly id: number; readonly group: RunGroup }[]>;

  /** The dedupe key a run was started under; null: none, or it is free again. */
  keyOf(runId: string): Promise<{ readonly scope: string; readonly key: string } | null>;

  /** Wakes parked runs whose time has come or whose inbox has unread messages. Answers how many. */
  wakeParked(options: { readonly limit: number }): Promise<number>;

  /** In how many milliseconds a waiting run of these groups can be claimed; zero or less: now. Null when none waits. */
  nextDue(groupIds: readonly number[]): Promise<number | null>;

  /**
   * Retries failed, dead and quarantined runs, with those of their tasks that did not succeed; of the skipped tasks only those
   * behind another that is retried. From the start, a run begins again with new tasks. Answers are in the order of the ids.
   * The journal gets an entry of kind `retried` (or `start`); an entry of kind `retry` is a failed attempt of the run itself.
   */
  retry(runIds: readonly string[], options: RetryCall): Promise<readonly RetryAnswer[]>;

  /** With its tasks: those that run are asked for, and it ends when they have. */
  cancel(runId: string, options: { readonly by: string; readonly reason?: string }): Promise<CancelAnswer>;

  /** Its tasks only, for the run itself; answers how many are still running and were asked to stop. */
  cancelTasks(runId: string, options: { readonly by: string; readonly reason?: string }): Promise<number>;

  /** Stops a run and its tasks until they are resumed. Work under way is aborted, and comes back when it is resumed. */
  pause(runId: string, options: { readonly by: string }): Promise<PauseAnswer>;

  resume(runId: string, options: { readonly by: string }): Promise<ResumeAnswer>;

  /**
   * What has become of a cancel or a pause, and a reminder to the holders that have not taken it in. One that has begins nothing more
   * of its run. Null: there is no such run.
   */
  stopping(runId: string): Promise<StopProgress | null>;

  /**
   * Proves that runs which wait for tasks wait for as many as are open, and mends rows where that is not so. `env`, `stack`:
   * only of this env, of this stack and of none; omitted: of all.
   */
  reconcile(scope?: { readonly env?: string; readonly stack?: string }): Promise<Reconciled>;

  get(runId: string): Promise<RunRecord | null>;

  /** Many at once, in the order asked for; null when there is no such run. For callers that wait. Reads only. */
  glance(runIds: readonly string[]): Promise<readonly (RunGlance | null)[]>;

  /** Who held it, claim by claim: the last so many of which something is known, in order. */
  claims(runId: string, options: { readonly limit: number }): Promise<readonly ClaimRecord[]>;

  /** Newest first, by pages. */
  list(filter: RunFilter, page: { readonly limit: number; readonly before?: string }): Promise<RunPage>;

  count(filter: RunFilter): Promise<Readonly<Partial<Record<RunState, number>>>>;

  /** Puts ended runs aside: their keys are free again. Answers how many. */
  archive(options: { readonly env: string; readonly endedBeforeMs: number; readonly limit: number }): Promise<number>;

  /** Deletes ended runs with their journal, inbox and keys; never a child of a live parent. Answers how many. */
  prune(options: { readonly env: string; readonly endedBeforeMs: number; readonly limit: number }): Promise<number>;
}
