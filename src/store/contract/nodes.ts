// Nodes: the processes that run Holdfast, each start with an incarnation of its own.

import type { RunGroup } from "../../kernel/new-run.js";

export interface NodeRegistration {
  /** Fresh at every start. */
  readonly incarnation: string;
  readonly identity: string;
  readonly name: string;
  readonly env: string;
  readonly stack: string | null;
  readonly build: string | null;
  /** The groups it claims from, by their numbers. */
  readonly serves?: readonly number[];
  /** How often it gives a sign of life. */
  readonly heartbeatMs?: number;
  /** For how long it claims and renews. */
  readonly leaseMs?: number;
}

/** A node is heard of in each heartbeat; after three without, it is taken for gone. */
export const MISSED_HEARTBEATS = 3;
/** For a node that did not say how often it beats. */
export const UNSAID_HEARTBEAT_MS = 5_000;

export interface NodeRecord extends Omit<NodeRegistration, "serves" | "heartbeatMs" | "leaseMs"> {
  readonly serves: readonly RunGroup[];
  readonly heartbeatMs: number | null;
  readonly leaseMs: number | null;
  readonly startedAt: number;
  readonly seenAt: number;
  readonly stoppedAt: number | null;
  /** Not stopped, and heard of within three heartbeats on the store's clock. */
  readonly alive: boolean;
  /** Runs it holds now. */
  readonly holds: number;
}

export interface NodeStore {
  register(node: NodeRegistration): Promise<void>;
  /** False: this incarnation is not registered (any more). */
  heartbeat(incarnation: string): Promise<boolean>;
  /** An orderly end. */
  stop(incarnation: string): Promise<void>;
  /** Newest start first; stopped ones only when asked for. */
  list(filter: { readonly env: string; readonly stopped?: boolean }): Promise<readonly NodeRecord[]>;
}
