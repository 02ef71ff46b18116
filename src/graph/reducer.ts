// How a field of a graph's state takes an update: replaced, appended, merged, or by a function of your own.

import { setOwn } from "../kernel/own-property.js";
import { frozen } from "./frozen.js";

/** Pure: it is called again over the journal when a run goes on elsewhere. The first value of a field is taken as it is. */
export type Reducer<T> = (old: T, update: T) => T;

// biome-ignore lint/suspicious/noExplicitAny: the reducers of any state
export type Reducers = Readonly<Record<string, Reducer<any> | undefined>>;

/** What a field does without a reducer. */
export function replace<T>(): Reducer<T> {
  return (_old, update) => update;
}

/** A list that grows. */
export function append<T>(): Reducer<readonly T[]> & Reducer<T[]> {
  return ((old: readonly T[], update: readonly T[]) => [...old, ...update]) as Reducer<readonly T[]> & Reducer<T[]>;
}

/** An object whose fields are replaced one by one. */
export function merge<T extends object>(): Reducer<T> {
  return (old, update) => ({ ...old, ...update });
}

export type Fields = Readonly<Record<string, unknown>>;

/** The next state. What user code is shown is frozen: a change that is not returned would be lost with the process. */
export function reduced(reducers: Reducers, state: Fields, update: Fields): Fields {
  return frozen(combined(reducers, state, update));
}

/** To look at, before it is recorded: what a node has just answered is its own, and is not frozen. */
export function combined(reducers: Reducers, state: Fields, update: Fields): Fields {
  const next: Record<string, unknown> = { ...state };
  for (const [field, value] of Object.entries(update)) {
    const reducer = Object.hasOwn(reducers, field) ? reducers[field] : undefined;
    const isFirst = !Object.hasOwn(state, field) || state[field] === undefined;
    setOwn(next, field, reducer && !isFirst ? reducer(state[field], value) : value);
  }
  return next;
}
