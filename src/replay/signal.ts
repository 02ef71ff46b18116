// A signal: a named, typed message for a run that waits for it, now or later.

import { signalName } from "../kernel/name.js";

/** A named, typed message for a run. */
export interface Signal<T> {
  /** The name under which it is stored. */
  readonly name: string;
  /** Carries the type only. */
  readonly "~payload"?: (payload: T) => T;
}

/**
 * Declares a signal: a named, typed message that a run waits for with `ctx.waitFor`, and that `run.signal` sends.
 *
 * @example
 * ```ts
 * const paid = signal<{ cents: number }>("paid");
 * ```
 */
export function signal<T = void>(name: string): Signal<T> {
  return { name: signalName(name, "signal") };
}
