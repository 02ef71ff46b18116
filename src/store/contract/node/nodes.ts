// Nodes: the processes that run Holdfast. Each start has its own incarnation.

import type { ModeChange, ModeState, NodeMode } from "../../../kernel/node-mode.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Reclaimed } from "../run/runs.js";

/** Part of a node with slots of its own, and the queues it works on. */
export interface NodeExecutor {
  readonly name: string;
  readonly slots: number;
  readonly queues: readonly string[];
}

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
  readonly executors?: readonly NodeExecutor[];
  /** The only node of its env and stack: it renews nothing, and is registered only while no other live node is there. */
  readonly alone?: boolean;
  /** The mode it starts in, unless another was stored for its identity. Default: full. */
  readonly mode?: NodeMode;
  /** How often it gives a sign of life. */
  readonly heartbeatMs?: number;
  /** For how long it claims and renews. */
  readonly leaseMs?: number;
  /** How long its presence may be missing before other nodes count it as gone. */
  readonly presenceGraceMs?: number;
  /** False: claims of the dead nodes that it replaces are not reclaimed; their leases end now, and a caller decides on each. */
  readonly reclaims?: boolean;
}

/** Every heartbeat is a sign of life; a node that misses three counts as gone. */
export const MISSED_HEARTBEATS = 3;
/** For a node that did not state its heartbeat interval and how long its presence may be missing. */
export const DEFAULT_HEARTBEAT_MS = 5_000;
export const DEFAULT_GRACE_MS = 1_000;

// A node is gone when its presence has been missing for its grace and it has given no sign of life for its silence; both by its
// own registered settings, and only for a witness that has watched for as long.
/** The silence of a node: its grace, or this number of its heartbeats where that is longer. */
export const SILENT_HEARTBEATS = 2;
/** How much longer both are after a restart of the server, when the witness's own connection broke, or many vanished at once. */
export const TROUBLE_FACTOR = 3;
export const MANY_LOST = 2;
/** An expired lease counts only for a witness that has watched for this number of the holder's heartbeats. */
export const WATCHED_HEARTBEATS = 3.5;
/** For a holder that is not registered, or did not state its heartbeat interval. */
export const DEFAULT_WATCH_MS = 1_000;

/** Another node that a registration conflicts with. */
export interface Rival {
  readonly incarnation: string;
  readonly identity: string;
  readonly name: string;
  readonly alone: boolean;
}

export type RegisterAnswer =
  /** `mode`: the mode it starts in, stored for its identity or given. `reclaimed`: the claims of the dead nodes it replaces. */
  | { readonly outcome: "registered"; readonly mode: ModeState; readonly reclaimed: readonly Reclaimed[] }
  /** It asks to be alone and another node is alive in its env and stack, or a live node there is alone. */
  | { readonly outcome: "refused"; readonly by: Rival }
  /** This incarnation has stopped, or was replaced by one that found it dead. */
  | { readonly outcome: "stopped" };

export interface NodeRecord
  extends Omit<
      NodeRegistration,
      "serves" | "executors" | "alone" | "heartbeatMs" | "leaseMs" | "presenceGraceMs" | "reclaims" | "mode"
    >,
    ModeState {
  readonly serves: readonly RunGroup[];
  readonly executors: readonly NodeExecutor[];
  readonly alone: boolean;
  /** The groups of which it takes runs now, in its mode. */
  readonly claims: readonly RunGroup[];
  /** Those of them to which other limits or another recovery apply than its code declares: a newer node declares them. */
  readonly overruled: readonly RunGroup[];
  readonly heartbeatMs: number | null;
  readonly leaseMs: number | null;
  readonly presenceGraceMs: number | null;
  readonly startedAt: number;
  readonly seenAt: number;
  readonly stoppedAt: number | null;
  /** Not stopped, and a sign of life within three heartbeats on the store's clock. */
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
  /**
   * A start under the identity of a node that is known to be dead reclaims that node's claims at once. A node that is alone
   * reclaims those of every node in its env and stack that is not alive.
   */
  register(node: NodeRegistration): Promise<RegisterAnswer>;
  /** False: this incarnation is not registered (any more). */
  heartbeat(incarnation: string): Promise<boolean>;
  /** Called by a node when its mode or its programs change: the groups of which it takes runs from now on. */
  claimsFrom(incarnation: string, groupIds: readonly number[]): Promise<void>;
  /**
   * For one live node, which learns of it within a second. `keep`: the resulting mode and overrides also apply to later starts
   * under the same identity. Returns what applies now; null: no such node, or it has stopped.
   */
  changeMode(incarnation: string, change: ModeChange, options: ModeChangeOptions): Promise<ModeState | null>;
  /** An orderly end. */
  stop(incarnation: string): Promise<void>;
  /** Newest start first; stopped ones only when asked for. */
  list(filter: { readonly env: string; readonly stopped?: boolean }): Promise<readonly NodeRecord[]>;
}
