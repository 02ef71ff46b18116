// The holders of a run, claim by claim: for people who investigate what happened to it.

/**
 * What happened to a run whose claim was reclaimed. `waiting`: another node continues it. `restarted`: it begins again from the
 * start. `failed`: its program's policy. `dead`: this happened too often. `paused`: a pause had been requested.
 */
export type TakenBackAs = "waiting" | "restarted" | "failed" | "dead" | "paused";

/** A node, as it was registered; identity and name are null when it is no longer known. */
export interface Holder {
  /** Its incarnation. */
  readonly incarnation: string;
  /** Its identity; null: it is no longer registered. */
  readonly identity: string | null;
  /** Its name for people; null: it is no longer registered. */
  readonly name: string | null;
}

export interface ClaimRecord {
  readonly epoch: number;
  /** Null: it wrote nothing, or its node is no longer known. */
  readonly holder: Holder | null;
  /** Not null: its holder died or hung, and the claim was reclaimed. */
  readonly reclaimed: ReclaimedClaim | null;
}

export interface ReclaimedClaim {
  readonly at: number;
  /** The node that reclaimed it; null: a caller did. */
  readonly by: Holder | null;
  readonly outcome: TakenBackAs;
  /** Commits that its holder sent afterwards, and that the fence refused. One inside a transaction of the caller is not counted. */
  readonly refused: number;
}
