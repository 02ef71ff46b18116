// One operation of the store as a value: what it changes, how its arguments are checked, and how calls are batched and repeated.
//
// Everything that has to know all operations is derived from these values: the checks in front of every store (checked-store.ts),
// the telemetry of a node's calls, the simulator's link, the lists of the differential and the unanswered-commit test, and the
// table in docs/internals/store-operations.md.

import type { BatchLimits } from "../kernel/chunk.js";
import type { HoldfastError } from "../kernel/error.js";
import type { Problem } from "./check/value.js";
import type { Store } from "./contract/store.js";

// biome-ignore lint/suspicious/noExplicitAny: a method with any arguments; `never[]` would lose the names of optional ones.
export type Method = (...args: any[]) => unknown;

type ItemOf<M extends Method> = Parameters<M>[0] extends readonly (infer Item)[] ? Item : never;
type AnswerTo<M extends Method> = Awaited<ReturnType<M>> extends readonly (infer Answer)[] ? Answer : never;
type TakesTx<M extends Method> =
  Parameters<M> extends readonly [unknown?] ? false : "tx" extends keyof NonNullable<Parameters<M>[1]> ? true : false;

export interface Operation<M extends Method, Tx extends boolean = TakesTx<M>> {
  /** What it changes, for people; null: it only reads. */
  readonly changes: string | null;
  /** Whether it accepts a transaction of the caller's, as `{ tx }` in its second argument. */
  readonly tx: Tx;
  /** False: it fails after one lost answer, because its caller has a next round. */
  readonly repeated: boolean;
  /** It takes callbacks, or opens something: not one request with one answer. */
  readonly callsBack?: true;
  /** Its first argument is a list, and an item whose row another statement has locked is answered `busy`. */
  readonly skipsLocked?: true;
  /** Put around the method of a store, for what cannot be checked before the call. */
  readonly around?: (method: M) => M;
  /** Refuses the whole call: it rejects with the problem. */
  readonly check?: (...args: Parameters<M>) => Problem;
  /** Arguments that nothing stored can match: answered without calling the store. Examined after `check`. */
  readonly absent?: {
    readonly when: (...args: Parameters<M>) => boolean;
    readonly answer: Awaited<ReturnType<M>>;
  };
  /** Its first argument is a list, and a bad item is answered alone. */
  readonly each?: Each<ItemOf<M>, AnswerTo<M>>;
  /** Its first argument is a list, cut into batches of at most this. Answers are joined in the order of the items. */
  readonly batch?: Batch<ItemOf<M>>;
}

/** Of any method, for code that handles all of them. */
export type AnyOperation = Operation<Method, boolean>;

export interface Each<Item, Answer> {
  /** Makes the check for the items of one call: what it remembers, such as ids seen twice, ends with the call. */
  readonly checker: () => (item: Item) => Problem;
  /** The answer to an item that the check, or the database, refuses. */
  readonly refused: (item: Item, error: HoldfastError) => Answer;
}

export interface Batch<Item> extends BatchLimits<Item> {
  /** Calls outside of transactions that arrive together are sent together, one batch after the other. */
  readonly gathers?: true;
}

/** The operations of one part of the store: the compiler requires each of its methods. */
export type OperationsOf<Part> = {
  readonly [Name in keyof Part]-?: Part[Name] extends Method ? Operation<Part[Name]> : never;
};

/** The operations of a whole store, in its shape. */
export type StoreOperations = {
  readonly [Name in keyof Store]: Store[Name] extends Method ? Operation<Store[Name]> : OperationsOf<Store[Name]>;
};

/** `runs.insert`, `housekeep`. */
export type OperationName = {
  [Name in keyof Store]: Store[Name] extends Method ? Name : `${Name}.${keyof Store[Name] & string}`;
}[keyof Store];

export type MethodOf<Name extends OperationName> = Name extends keyof Store
  ? Extract<Store[Name], Method>
  : Name extends `${infer Part extends keyof Store}.${infer Verb}`
    ? Verb extends keyof Store[Part]
      ? Extract<Store[Part][Verb], Method>
      : never
    : never;

/** More rows in one statement gain nothing and hold their locks longer. */
export const MOST_AT_ONCE = { maxRows: 1000, maxBytes: 4 * 1024 * 1024 } as const;

/** What operations that only read have in common, unless they say otherwise. */
export const READS = { changes: null, tx: false, repeated: true } as const;

/** What operations that change something have in common, unless they say otherwise. */
export const CHANGES = { tx: false, repeated: true } as const;
