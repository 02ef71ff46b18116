// A signal: a named, typed message for a run that waits for it, now or later.

import { signalName } from "../kernel/name.js";

export interface Signal<T> {
  readonly name: string;
  /** Carries the type only. */
  readonly "~payload"?: (payload: T) => T;
}

export function signal<T = void>(name: string): Signal<T> {
  return { name: signalName(name, "signal") };
}
