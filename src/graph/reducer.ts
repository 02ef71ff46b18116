// How a field of a graph's state takes an update: replaced, appended, merged, or by a function of your own.

import { setOwn } from "../kernel/codec/own-property.js";
import { PermanentError } from "../replay/step-error.js";
import { frozen } from "./frozen.js";

/**
 * Pure: it is called again over the journal when a run resumes elsewhere. The first value of a field is taken as it is.
 */
export type Reducer<T> = (old: T, update: T) => T;

// biome-ignore lint/suspicious/noExplicitAny: the reducers of any state
export type Reducers = Readonly<Record<string, Reducer<any> | undefined>>;

/** A reducer that takes the new value: the default of a field without one. */
export function replace<T>(): Reducer<T> {
  return (_old, update) => update;
}

/** A reducer for a list that grows: updates are added to its end. */
export function append<T>(): Reducer<readonly T[]> & Reducer<T[]> {
  return ((old: readonly T[], update: readonly T[]) => [...old, ...update]) as Reducer<readonly T[]> & Reducer<T[]>;
}

/** A reducer for an object whose fields are replaced one by one. */
export function merge<T extends object>(): Reducer<T> {
  return (old, update) => ({ ...old, ...update });
}

export type Fields = Readonly<Record<string, unknown>>;

/** The next state. It is frozen, because a change that user code does not return would be lost with the process. */
export function reduced(reducers: Reducers, state: Fields, update: Fields): Fields {
  return frozen(combined(reducers, state, update));
}

/** A preview before the update is recorded: a node's own result is not frozen. */
export function combined(reducers: Reducers, state: Fields, update: Fields): Fields {
  const next: Record<string, unknown> = { ...state };
  for (const [field, value] of Object.entries(update)) {
    const reducer = reducerOf(reducers, field);
    const isFirst = !Object.hasOwn(state, field) || state[field] === undefined;
    setOwn(next, field, reducer && !isFirst ? applied(reducer, field, state[field], value) : value);
  }
  return next;
}

/** Whether this update goes through a reducer, which may throw and is therefore tried before anything is recorded. */
export function isReduced(reducers: Reducers, update: Fields | null | undefined): boolean {
  for (const field in update) if (reducerOf(reducers, field)) return true;
  return false;
}

function reducerOf(reducers: Reducers, field: string): Reducers[string] {
  return Object.hasOwn(reducers, field) ? reducers[field] : undefined;
}

function applied(reducer: NonNullable<Reducers[string]>, field: string, old: unknown, update: unknown): unknown {
  try {
    return reducer(old, update);
  } catch (cause) {
    throw new PermanentError(`The reducer of ${JSON.stringify(field)} threw on the update.`, { cause });
  }
}
