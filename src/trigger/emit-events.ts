// Telemetry of events: which runs they started, and which not.

interface OfEvent {
  readonly event: string;
}

interface OfRun extends OfEvent {
  readonly program: string;
  readonly runId: string;
}

export interface TriggerEvents {
  /** `runs`: how many it started; in a caller's own transaction, on commit. */
  "event.accepted": OfEvent & { readonly runs: number };
  /** The same event had already started `runId`. */
  "event.deduplicated": OfRun;
  /** The event is stored for `runId`, which begins when its subject is quiet. */
  "event.debounced": OfRun;
  /** This node is disabled: it started nothing. */
  "event.ignored": OfEvent;
  /** The program's circuit breaker is open. */
  "event.rejected": OfEvent & { readonly program: string };
  /** `runId` may probe; until it has ended, no other run may. */
  "breaker.half_opened": { readonly program: string; readonly runId: string };
}
