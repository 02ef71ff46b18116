// Claiming: a run has one holder at a time, for the duration of a lease that the holder renews.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { Claim } from "../../../kernel/run/claim.js";
import type { DebounceTicket } from "../../../kernel/run/debounce-ticket.js";
import type { Given, JournalEntry } from "../journal/journal.js";
import type { ClaimRecord } from "./claims.js";

export interface ClaimRequest {
  /** The node's incarnation. */
  readonly owner: string;
  /** Drawn by the caller for this call: repeating the call returns what it already holds. */
  readonly token: string;
  readonly groupIds: readonly number[];
  readonly limit: number;
  readonly leaseMs: number;
  /**
   * How many suspects it may be granted: none, or at most one, the first in order. Omitted: any number, for a caller that
   * executes each run in a separate process.
   */
  readonly suspects?: 0 | 1;
  /** The node's build: runs that it is known not to fit are left to other nodes. */
  readonly build?: string | null;
  /** Only runs that became due in these last milliseconds. Omitted or null: all. */
  readonly recentMs?: number | null;
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
  /** It has crashed often enough (`suspectFrom`) to be executed alone. */
  readonly suspect: boolean;
  readonly parentId: string | null;
  /** It has limits: when its claim is released, other runs may be admitted. */
  readonly limited: boolean;
  /** It is a task: its end is counted in the runs that wait for it. */
  readonly counts: boolean;
  /** Of a task: the input of its parent and the results of its needs, where they are short. */
  readonly given: readonly Given[];
  /** The log of the current generation up to the claim, where it is short and more than the input; null: it must be read. */
  readonly log: readonly JournalEntry[] | null;
  readonly input: Payload;
  /** Not null: it gathers the events of a subject, and has not taken its input yet. */
  readonly debounce: DebounceTicket | null;
  /** The node that started it for other nodes to execute; null: it was not deferred. */
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

export interface RunClaims {
  claim(request: ClaimRequest): Promise<readonly ClaimedRun[]>;

  renew(claims: readonly Claim[], leaseMs: number): Promise<readonly RenewAnswer[]>;

  /** Wakes parked runs that are due or have unread messages in their inbox. Returns how many. */
  wakeParked(options: { readonly limit: number }): Promise<number>;

  /** In how many milliseconds a waiting run of these groups can be claimed; zero or less: now. Null when none waits. With `recentMs`, runs that have been due for longer do not count. */
  nextDue(groupIds: readonly number[], options?: Pick<ClaimRequest, "recentMs">): Promise<number | null>;

  /** The holders of a run, claim by claim, in order: the last `limit` claims with a record. */
  claims(runId: string, options: { readonly limit: number }): Promise<readonly ClaimRecord[]>;
}
