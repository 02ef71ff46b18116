// Makes operations of the contract from functions that take the database first.

import type { Database } from "./database.js";

// biome-ignore lint/suspicious/noExplicitAny: a method with any arguments; `never[]` would lose the names of optional ones.
type Functions = Readonly<Record<string, (db: Database, ...args: any[]) => Promise<unknown>>>;
type Bound<Of> = {
  readonly [Name in keyof Of]: Of[Name] extends (db: Database, ...args: infer Args) => infer Answer
    ? (...args: Args) => Answer
    : never;
};

export function onDatabase<Of extends Functions>(db: Database, functions: Of): Bound<Of> {
  const bound = Object.entries(functions).map(([name, run]) => [name, (...args: unknown[]) => run(db, ...args)]);
  return Object.fromEntries(bound) as Bound<Of>;
}
