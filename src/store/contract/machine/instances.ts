// Reading instances and their events, and removing those that ended long ago.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Transaction } from "../transaction.js";
import type { InstanceStatus, NewInstanceEvent } from "./changes.js";

export interface InstanceRecord {
  readonly key: string;
  readonly id: string;
  readonly group: RunGroup;
  readonly version: string | null;
  readonly status: InstanceStatus;
  readonly seq: number;
  readonly value: string;
  readonly redact: readonly string[];
  /** Why no node can continue it; null when no reason is known. */
  readonly problem: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
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
