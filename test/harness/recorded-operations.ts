// Notes which operations of a store are called, so that a suite can show that it leaves none out.

import { expect } from "vitest";
import type { Store } from "../../src/store/contract/store.js";
import type { Method, OperationName } from "../../src/store/operation.js";
import { OPERATIONS_BY_NAME } from "../../src/store/operations.js";

/** In place: transactions and snapshots of a store are found by the store itself. */
export function recordOperations<S extends Store>(store: S, called: Set<string>): S {
  const parts = store as unknown as Record<string, Method | Record<string, Method>>;
  for (const name of OPERATIONS_BY_NAME.keys()) {
    const [part, verb] = name.split(".") as [string, string | undefined];
    const holder = (verb === undefined ? parts : parts[part]) as Record<string, Method>;
    const method = holder[verb ?? part]!;
    holder[verb ?? part] = (...args) => {
      called.add(name);
      return method(...args);
    };
  }
  return store;
}

/** `without`: operations that the suite cannot show, each with the reason. */
export function expectEveryOperation(
  called: ReadonlySet<string>,
  without: Readonly<Partial<Record<OperationName, string>>>,
  { changing = false } = {},
): void {
  const asked = [...OPERATIONS_BY_NAME].filter(([, { changes }]) => !changing || changes !== null);
  expect(asked.map(([name]) => name).filter((name) => !called.has(name) && !(name in without))).toEqual([]);
  expect(Object.keys(without).filter((name) => called.has(name))).toEqual([]);
}
