// Telemetry of a node's schedules.

interface OfSchedule {
  readonly program: string;
  /** As the list shows it: `every 5m`. */
  readonly schedule: string;
}

export interface ScheduleEvents {
  /** This node started a run for each of these windows. `lateMs`: since the last of them, on the store's clock. */
  "schedule.fired": OfSchedule & {
    readonly windows: readonly string[];
    readonly runIds: readonly string[];
    readonly lateMs: number;
  };
  /** Windows after `after` and up to `until` at which no node was running and that the catch-up policy skips. */
  "schedule.skipped": OfSchedule & { readonly after: string; readonly until: string };
  /** The program's circuit breaker is open: these windows start nothing, now or later. */
  "schedule.rejected": OfSchedule & { readonly windows: readonly string[] };
  /** Missed windows were caught up. `more`: the rest follows in the next round. */
  "schedule.caught_up": OfSchedule & { readonly windows: number; readonly more: boolean };
  /** Schedules could not be read or fired; the scheduler tries again. */
  "schedule.failed": { readonly error: unknown };
}
