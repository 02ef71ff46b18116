// Points at which a simulation bends an allowed choice: a batch of one, an early poll, a lost wake, a read in parts. Each choice is
// correct, only rare or slow; what breaks with it relies on luck. In production every point is false and costs one look at a field.

export const BUGGIFY_SITES = [
  "claim.one",
  "claim.early-poll",
  "claim.no-next-due",
  "claim.without-log",
  "cleanup.one",
  "commit.one-part",
  "graph.snapshot-now",
  "housekeeping.admit-one",
  "housekeeping.early",
  "housekeeping.reclaim-one",
  "housekeeping.wake-one",
  "inbox.read-again",
  "lane.late",
  "machine.cold",
  "machine.one-event",
  "notify.lost",
  "renew.early",
  "renew.skipped",
  "retry.parked",
  "schedule.early",
  "schedule.one-window",
  "subscribe.again",
  "timers.early",
  "timers.one",
] as const;

export type BuggifySite = (typeof BUGGIFY_SITES)[number];

/** A world in which points may be bent. */
export interface Bendable {
  /** Whether a simulation bends the choice at this point now. Absent: never. */
  buggify?(site: BuggifySite): boolean;
}

export function buggify(world: Bendable, site: BuggifySite): boolean {
  return world.buggify?.(site) ?? false;
}
