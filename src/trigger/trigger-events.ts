// Telemetry of a node's schedules, and of events: which runs they started, and which not.

/** Facts about a schedule. */
interface OfSchedule {
  /** The program that it starts. */
  readonly program: string;
  /** As the list shows it: `every 5m`. */
  readonly schedule: string;
}

/** Events of a node about schedules, by name. */
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
  /** Another node was first with these windows, or the schedule was paused meanwhile: this node started nothing. */
  "schedule.lost": OfSchedule & { readonly windows: readonly string[]; readonly keys: readonly string[] };
  /** Missed windows were caught up. `more`: the rest follows in the next round. */
  "schedule.caught_up": OfSchedule & { readonly windows: number; readonly more: boolean };
  /** Schedules could not be read or fired; the scheduler tries again. */
  "schedule.failed": { readonly error: unknown };
}

/** Facts about an emitted event. */
interface OfEvent {
  /** The name of the event. */
  readonly event: string;
}

/** Facts about the run of a trigger. */
interface OfRun extends OfEvent {
  /** The name of its program. */
  readonly program: string;
  /** The id of the run. */
  readonly runId: string;
}

/** Events of a node about triggers, by name. */
export interface TriggerEvents {
  /** `runs`: how many it started; in a caller's own transaction, on commit. */
  "event.accepted": OfEvent & { readonly runs: number };
  /** The same event had already started `runId`. */
  "event.deduplicated": OfRun & { readonly key: string };
  /** The event is stored for `runId`, which begins when its subject is quiet. */
  "event.debounced": OfRun;
  /** This node is disabled: it started nothing. */
  "event.ignored": OfEvent;
  /** The program's circuit breaker is open. */
  "event.rejected": OfEvent & { readonly program: string };
  /** `runId` may probe; until it has ended, no other run may. */
  "breaker.half_opened": { readonly program: string; readonly runId: string };
}
