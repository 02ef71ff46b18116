// What nodes and the client run with: a lease so short that takeovers happen, and time limits that fit it.

/** Crashes are what this is about: no run may be given up because it met too many. */
export const SETTINGS = {
  concurrency: 20,
  lease: "2s",
  renewEvery: 600,
  housekeeping: 500,
  crashLimit: 10_000,
} as const;

export const STORE_SETTINGS = { queryTimeout: "3s" } as const;

/** As long as the lease and a round of housekeeping: by then others may have taken over. */
export const LEASE_MS = 2_000;
