// What a node tells of its schedules.

interface OfSchedule {
  readonly program: string;
  /** As the list shows it: `every 5m`. */
  readonly schedule: string;
}

export interface ScheduleEvents {
  /** This node was the one that started a run for each of these windows. `lateMs`: since the last of them, by the store's clock. */
  "schedule.fired": OfSchedule & {
    readonly windows: readonly string[];
    readonly runIds: readonly string[];
    readonly lateMs: number;
  };
  /** Windows after `after` and up to `until` that nobody was there for and that the catch-up policy leaves out. */
  "schedule.skipped": OfSchedule & { readonly after: string; readonly until: string };
  /** The circuit breaker of the program is open: these windows start nothing, and will not. */
  "schedule.rejected": OfSchedule & { readonly windows: readonly string[] };
  /** Windows that nobody was there for were made up for. `more`: the rest comes in the next round. */
  "schedule.caught_up": OfSchedule & { readonly windows: number; readonly more: boolean };
  /** Schedules could not be read or fired; it is tried again. */
  "schedule.failed": { readonly error: unknown };
}
