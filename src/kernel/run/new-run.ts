// What it takes to put a run into the store.

import type { Payload } from "../codec/payload.js";
import type { Recovery } from "./recovery.js";

/** Who may claim a run: a small table gives each combination one number, so that a claim is one index range. */
export interface RunGroup {
  readonly env: string;
  /** null: any stack. */
  readonly stack: string | null;
  readonly queue: string;
  readonly program: string;
  /** null: any version. */
  readonly version: string | null;
}

export interface NewRun {
  /** Time-ordered, made by the caller: inserting the same id twice inserts once. */
  readonly id: string;
  readonly group: RunGroup;
  /** Lower first. */
  readonly priority: number;
  readonly delayMs: number;
  /** Claims in a row that may end in a crash before the run is dead. */
  readonly crashLimit: number;
  /** What becomes of it when its holder died. Not given: what the nodes that serve it have declared. */
  readonly recovery?: Recovery;
  readonly input: Payload;
  readonly parentId?: string;
  readonly key?: NewKey;
  /**
   * Passed one after the other before the run may be claimed, narrow to wide and in one order everywhere: runs that pass
   * the same limits in different orders would wait for each other. None: claimable at once.
   */
  readonly limits?: readonly NewLimit[];
  /** Started by a node that leaves the work to others. */
  readonly deferred?: NewDeferral;
}

export interface NewDeferral {
  /** The node that asked. */
  readonly by: string;
  /** How long after it could begin it is cancelled if nobody took it; null: never. */
  readonly expiresInMs: number | null;
}

/** `slots`: given up while the run waits or backs off. `serial`: one, kept until the run has ended. `rate`: starts. */
export type LimitKind = "serial" | "slots" | "rate";

export interface NewLimit {
  readonly kind: LimitKind;
  /** Whoever has the same key in the same env shares the limit. */
  readonly key: string;
  /** How many at once; of a rate, how many per `perMs`. */
  readonly max: number;
  readonly perMs?: number;
  /** Only of slots: what becomes of runs that find no place. Not given: they wait. */
  readonly overflow?: Overflow;
}

/**
 * `drop`: a run that finds no place is skipped. `shed-oldest`: as many may wait as may be at work; beyond that the oldest is
 * skipped. A run that was claimed before is never skipped: what was begun, or was recovered, waits for its place.
 */
export type Overflow = "drop" | "shed-oldest";

export interface NewKey {
  /** Keys of different scopes never meet; usually the program's name. */
  readonly scope: string;
  readonly key: string;
  readonly payloadHash: string;
  readonly lifetime: KeyLifetime;
  /** Same key, other payload: `conflict` tells the caller, `skip` answers the existing run (triggers). */
  readonly onMismatch: "conflict" | "skip";
}

/** How long a key is taken: while its run is live, until its run is archived or pruned, or for a time. */
export type KeyLifetime = "live" | "archived" | { readonly forMs: number };
