// Nodes: the processes that run Holdfast, each start with an incarnation of its own.

import type { RunGroup } from "../../kernel/new-run.js";
import type { ModeChange, ModeState, NodeMode } from "../../kernel/node-mode.js";

export interface NodeRegistration {
  /** Fresh at every start. */
  readonly incarnation: string;
  readonly identity: string;
  readonly name: string;
  readonly env: string;
  readonly stack: string | null;
  readonly build: string | null;
  /** The groups of its programs, by their numbers. */
  readonly serves?: readonly number[];
  /** The mode it starts in, unless another was kept for its identity. Default: full. */
  readonly mode?: NodeMode;
  /** How often it gives a sign of life. */
  readonly heartbeatMs?: number;
  /** For how long it claims and renews. */
  readonly leaseMs?: number;
}

/** A node is heard of in each heartbeat; after three without, it is taken for gone. */
export const MISSED_HEARTBEATS = 3;
/** For a node that did not say how often it beats. */
export const UNSAID_HEARTBEAT_MS = 5_000;

export interface NodeRecord extends Omit<NodeRegistration, "serves" | "heartbeatMs" | "leaseMs" | "mode">, ModeState {
  readonly serves: readonly RunGroup[];
  /** Those of which it takes runs now, in its mode. */
  readonly claims: readonly RunGroup[];
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

export interface ModeChangeOptions {
  readonly keep: boolean;
  /** Who changes it. */
  readonly by: string;
}

export interface NodeStore {
  /** Answers the mode it starts in: what was kept for its identity, else what it was given. */
  register(node: NodeRegistration): Promise<ModeState>;
  /** False: this incarnation is not registered (any more). */
  heartbeat(incarnation: string): Promise<boolean>;
  /** Told by a node when its mode or its programs change: the groups of which it takes runs from now on. */
  claimsFrom(incarnation: string, groupIds: readonly number[]): Promise<void>;
  /**
   * For one live node; it hears of it within a second. `keep`: mode and overrides as they are then also hold for later
   * starts under the same identity. Answers what holds now; null: no such node, or it has stopped.
   */
  changeMode(incarnation: string, change: ModeChange, options: ModeChangeOptions): Promise<ModeState | null>;
  /** An orderly end. */
  stop(incarnation: string): Promise<void>;
  /** Newest start first; stopped ones only when asked for. */
  list(filter: { readonly env: string; readonly stopped?: boolean }): Promise<readonly NodeRecord[]>;
}
