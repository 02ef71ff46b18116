// What is told of events: who was started by them, and who was not.

interface OfEvent {
  readonly event: string;
}

interface OfRun extends OfEvent {
  readonly program: string;
  readonly runId: string;
}

export interface TriggerEvents {
  /** `runs`: how many it started; in a caller's own transaction, when that commits. */
  "event.accepted": OfEvent & { readonly runs: number };
  /** The same event had started `runId` before. */
  "event.deduplicated": OfRun;
  /** It is kept for `runId`, which begins when its subject is quiet. */
  "event.debounced": OfRun;
  /** This node is disabled: it started nothing. */
  "event.ignored": OfEvent;
  /** The circuit breaker of the program is open. */
  "event.rejected": OfEvent & { readonly program: string };
  /** `runId` was let through to try; until it has ended, no other is. */
  "breaker.half_opened": { readonly program: string; readonly runId: string };
}
