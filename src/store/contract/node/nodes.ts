// Nodes: the processes that run Holdfast. Each start has its own incarnation.

import type { ModeChange, ModeState, NodeMode } from "../../../kernel/node-mode.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Reclaimed } from "../run/runs.js";
import type { NodeVitals, ProgramFacts, ProgramRecord } from "./programs.js";

/** Part of a node with slots of its own, and the queues it works on. */
export interface NodeExecutor {
  /** The name of the executor. */
  readonly name: string;
  /** How many runs it works on at once. */
  readonly slots: number;
  /** The queues it works on. */
  readonly queues: readonly string[];
}

/** What a node says about itself when it starts. */
export interface NodeRegistration {
  /** Fresh at every start. */
  readonly incarnation: string;
  /** Who it is, across restarts. */
  readonly identity: string;
  /** Its name for people. */
  readonly name: string;
  /** Its environment. */
  readonly env: string;
  /** Its stack; null: none. */
  readonly stack: string | null;
  /** The name of its code; null: it did not say. */
  readonly build: string | null;
  /** The groups of its programs, by their numbers. */
  readonly serves?: readonly number[];
  /** Its executors, with slots and queues. */
  readonly executors?: readonly NodeExecutor[];
  /** The only node of its env and stack: it renews nothing, and is registered only while no other live node is there. */
  readonly alone?: boolean;
  /** The mode it starts in, unless another was stored for its identity. @default full */
  readonly mode?: NodeMode;
  /** How often it gives a sign of life. */
  readonly heartbeatMs?: number;
  /** For how long it claims and renews. */
  readonly leaseMs?: number;
  /** How long its presence may be missing before other nodes count it as gone. */
  readonly presenceGraceMs?: number;
  /** False: claims of the dead nodes that it replaces are not reclaimed; their leases end now, and a caller decides on each. */
  readonly reclaims?: boolean;
  /** What its programs look like. The last report on a program of the env is kept. */
  readonly programs?: readonly ProgramFacts[];
}

/** Another node that a registration conflicts with. */
export interface Rival {
  /** Its incarnation. */
  readonly incarnation: string;
  /** Its identity. */
  readonly identity: string;
  /** Its name for people. */
  readonly name: string;
  /** Whether it asked to be alone. */
  readonly alone: boolean;
}

export type RegisterAnswer =
  /** `mode`: the mode it starts in, stored for its identity or given. `reclaimed`: the claims of the dead nodes it replaces. */
  | { readonly outcome: "registered"; readonly mode: ModeState; readonly reclaimed: readonly Reclaimed[] }
  /** It asks to be alone and another node is alive in its env and stack, or a live node there is alone. */
  | { readonly outcome: "refused"; readonly by: Rival }
  /** This incarnation has stopped, or was replaced by one that found it dead. */
  | { readonly outcome: "stopped" };

/** A node as the database knows it: who it is, whether it lives, and what it does. */
export interface NodeRecord
  extends Omit<
      NodeRegistration,
      | "serves"
      | "executors"
      | "alone"
      | "heartbeatMs"
      | "leaseMs"
      | "presenceGraceMs"
      | "reclaims"
      | "mode"
      | "programs"
    >,
    ModeState {
  /** The groups of its programs. */
  readonly serves: readonly RunGroup[];
  /** Its executors, with slots and queues. */
  readonly executors: readonly NodeExecutor[];
  /** Whether it asked to be the only node of its env and stack. */
  readonly alone: boolean;
  /** The groups of which it takes runs now, in its mode. */
  readonly claims: readonly RunGroup[];
  /** Those of them to which other limits or another recovery apply than its code declares: a newer node declares them. */
  readonly overruled: readonly RunGroup[];
  /** How often it gives a sign of life; null: it did not say. */
  readonly heartbeatMs: number | null;
  /** For how long it claims and renews; null: it did not say. */
  readonly leaseMs: number | null;
  /** How long its presence may be missing; null: it did not say. */
  readonly presenceGraceMs: number | null;
  /** When it started; ms since 1970 on the database's clock. */
  readonly startedAt: number;
  /** Its last sign of life; ms since 1970 on the database's clock. */
  readonly seenAt: number;
  /** When it stopped in order; null: it has not. */
  readonly stoppedAt: number | null;
  /** Not stopped, and a sign of life within three heartbeats on the store's clock. */
  readonly alive: boolean;
  /** Runs it holds now. */
  readonly holds: number;
  /** Its last report on its process; null: it has made none. */
  readonly vitals: NodeVitals | null;
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
  /** The programs that nodes of the env have reported, by name. */
  programs(env: string): Promise<readonly ProgramRecord[]>;
}
