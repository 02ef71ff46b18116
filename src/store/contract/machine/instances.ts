// Reading instances and their events, and removing those that ended long ago.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Transaction } from "../transaction.js";
import type { InstanceStatus, NewInstanceEvent } from "./changes.js";

/** An instance as it is stored. */
export interface InstanceRecord {
  /** Its id with env and machine. */
  readonly key: string;
  /** Its id. */
  readonly id: string;
  /** Env, stack and program of its machine. */
  readonly group: RunGroup;
  /** The version of the code that wrote it; null: none was given. */
  readonly version: string | null;
  /** Whether it is active, done, stopped or has failed. */
  readonly status: InstanceStatus;
  /** The number of events that were applied. */
  readonly seq: number;
  /** Its state value as JSON. */
  readonly value: string;
  /** Fields that are redacted for people. */
  readonly redact: readonly string[];
  /** Why no node can continue it; null when no reason is known. */
  readonly problem: string | null;
  /** When it was started; ms since 1970 on the database's clock. */
  readonly createdAt: number;
  /** When it changed last; ms since 1970 on the database's clock. */
  readonly updatedAt: number;
  /** When it ended; null: it has not. */
  readonly endedAt: number | null;
}

export interface LoadedInstance extends InstanceRecord {
  readonly snapshot: Payload;
  readonly snapshotSeq: number;
}

export interface InstanceEvent extends NewInstanceEvent {
  readonly seq: number;
  readonly at: number;
}

export interface InstanceFilter {
  readonly env: string;
  /** Omitted: all stacks. */
  readonly stack?: string;
  readonly machine?: string;
  readonly id?: string;
  readonly statuses?: readonly InstanceStatus[];
}

export interface InstancePage {
  readonly instances: readonly InstanceRecord[];
  /** Pass as `before` to get the next page; null at the end. */
  readonly next: string | null;
}

export interface InstanceRecords {
  /** Null where there is none. With a transaction, as it sees them. */
  load(keys: readonly string[], options?: { readonly tx?: Transaction }): Promise<readonly (LoadedInstance | null)[]>;

  /** Events after a sequence, in order. */
  events(key: string, options: { readonly after: number; readonly limit: number }): Promise<readonly InstanceEvent[]>;

  /** Stores why no node can continue an instance, until a node does. Changes nothing when the instance is at another sequence. */
  note(key: string, seq: number, problem: string): Promise<boolean>;

  /** Newest first, by pages. */
  list(filter: InstanceFilter, page: { readonly limit: number; readonly before?: string }): Promise<InstancePage>;

  /** Deletes ended instances with their events and timers. Returns how many. */
  prune(options: { readonly env: string; readonly endedBeforeMs: number; readonly limit: number }): Promise<number>;
}
