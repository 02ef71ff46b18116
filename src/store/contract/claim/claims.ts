// Who held a run, claim by claim: for people who ask what happened to it.

/**
 * What became of a run whose claim was taken. `waiting`: another node goes on. `restarted`: it begins anew. `failed`: given up, as
 * its program asks. `dead`: too often. `paused`: somebody had asked for it.
 */
export type TakenBackAs = "waiting" | "restarted" | "failed" | "dead" | "paused";

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
  readonly outcome: TakenBackAs;
}
