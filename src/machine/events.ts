// What a node tells of its machines. Payloads are left out, except where the machine itself asked to tell them; marked fields of
// those are not shown.

interface OfInstance {
  readonly machine: string;
  readonly id: string;
}

export interface MachineEvents {
  "instance.started": OfInstance & { readonly value: unknown };
  /** Events that were applied by this node, in one append. */
  "instance.moved": OfInstance & { readonly seq: number; readonly events: readonly string[]; readonly value: unknown };
  "instance.ended": OfInstance & { readonly seq: number; readonly status: string };
  /** No transition takes it where the instance is. */
  "instance.unhandled": OfInstance & { readonly seq: number; readonly event: string };
  /** Somebody else was faster; it was loaded again. */
  "instance.conflict": OfInstance & { readonly expected: number; readonly actual: number };
  /** The state is none of this code's. */
  "instance.quarantined": OfInstance & { readonly problem: string };
  /** `lateMs`: since it was due, by the store's clock. */
  "timer.fired": OfInstance & { readonly timer: string; readonly lateMs: number };
  /** Its state was left, or its guard did not hold. */
  "timer.skipped": OfInstance & { readonly timer: string };
  "timer.failed": OfInstance & { readonly timer: string; readonly attempts: number; readonly error: unknown };
  /** No branch of the current definition is its own. It is kept. */
  "timer.unknown": OfInstance & { readonly timer: string; readonly problem: string };
  "timer.dead": OfInstance & { readonly timer: string; readonly attempts: number; readonly problem: string | null };
  /** Timers could not be looked for; it is tried again. */
  "timers.failed": { readonly error: unknown };
  /** From emit() and log() of the machine, once its step was written. Not repeated after a crash. */
  "machine.emitted": OfInstance & { readonly event: unknown };
  "machine.logged": OfInstance & { readonly label: string | null; readonly value: unknown };
}
