// Who held a run, claim by claim: for people who ask what happened to it.

import type { Reclaimed } from "./runs.js";

/** A node, as it was registered; identity and name are null when it is not known any more. */
export interface Holder {
  readonly incarnation: string;
  readonly identity: string | null;
  readonly name: string | null;
}

export interface ClaimRecord {
  readonly epoch: number;
  /** Null: it wrote nothing, or its node is not known any more. */
  readonly holder: Holder | null;
  /** Not null: its holder died or hung, and somebody took it. */
  readonly takenBack: TakenBack | null;
}

export interface TakenBack {
  readonly at: number;
  /** The node whose sweep took it; null: somebody asked for the sweep. */
  readonly by: Holder | null;
  readonly outcome: Reclaimed["outcome"];
}
