// The slot of a run at work, as its session sees it.

export interface Seat {
  /** Releases the slot. */
  leave(): void;
  /** Whether a run that only sleeps, for this long, keeps its claim. */
  mayDoze(forMs: number | null): boolean;
  /** Lends the slot to others until then. Returns whether there is one for it again; without, it is released. */
  doze(until: Promise<void>): Promise<boolean>;
}
