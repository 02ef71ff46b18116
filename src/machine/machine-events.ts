// Telemetry of a node's machines. Payloads are omitted, except those the machine itself emits; their marked fields are
// redacted.

/** Facts about an instance. */
interface OfInstance {
  /** The name of its machine. */
  readonly machine: string;
  /** The id of the instance. */
  readonly id: string;
}

/** Events of a node about instances and timers, by name. */
export interface MachineEvents {
  /** An instance was started. */
  "instance.started": OfInstance & { readonly value: unknown };
  /** Events applied by this node, in one append. */
  "instance.moved": OfInstance & { readonly seq: number; readonly events: readonly string[]; readonly value: unknown };
  /** An instance is done, was stopped or has failed. */
  "instance.ended": OfInstance & { readonly seq: number; readonly status: string; readonly error?: unknown };
  /** An effect or an actor answered a stay in a state that is over. The answer was dropped. */
  "effect.stale": OfInstance & { readonly effect: string };
  /** No transition takes the event in the current state. */
  "instance.unhandled": OfInstance & { readonly seq: number; readonly event: string };
  /** Another writer was faster; the instance was loaded again. */
  "instance.conflict": OfInstance & { readonly expected: number; readonly actual: number };
  /** The state is unknown to this code. */
  "instance.quarantined": OfInstance & { readonly problem: string };
  /** `lateMs`: since it was due, on the store's clock. */
  "timer.fired": OfInstance & { readonly timer: string; readonly lateMs: number };
  /** Its state was left, or its guard did not hold. */
  "timer.skipped": OfInstance & { readonly timer: string };
  /** A timer could not be fired; it is tried again. */
  "timer.failed": OfInstance & { readonly timer: string; readonly attempts: number; readonly error: unknown };
  /** No branch of the current definition matches it. It is kept. */
  "timer.unknown": OfInstance & { readonly timer: string; readonly problem: string };
  /** A timer failed too often and is not tried again until `retryTimers`. */
  "timer.dead": OfInstance & { readonly timer: string; readonly attempts: number; readonly problem: string | null };
  /** Timers could not be claimed; the loop tries again. */
  "timers.failed": { readonly error: unknown };
  /** From emit() and log() of the machine, after its step was written. Not repeated after a crash. */
  "machine.emitted": OfInstance & { readonly event: unknown };
  /** A machine executed a `log` action. */
  "machine.logged": OfInstance & { readonly label: string | null; readonly value: unknown };
}
