// What nodes and the client run with: a lease so short that takeovers happen, and time limits that fit it.

/** Kills are many here; seven in a row of one run without progress, by chance alone, happen once in thousands of minutes. */
export const SETTINGS = {
  concurrency: 20,
  timing: { lease: "2s", renewEvery: 600, housekeeping: 500 },
  recovery: { crashLimit: 7 },
} as const;

/** A node of another env that would take everything at once, if what it finds were its own. */
export const FOREIGN_SETTINGS = {
  env: "elsewhere",
  timing: { lease: 200, renewEvery: 50, housekeeping: 100, presenceGrace: 0 },
} as const;

export const STORE_SETTINGS = { queryTimeout: "3s" } as const;

/** As long as the lease and a round of housekeeping: by then others may have taken over. */
export const LEASE_MS = 2_000;
/** The default of `presenceGrace`: a holder that was heard of within it is not gone. */
export const GRACE_MS = 1_000;
