// Filters on an event's payload, as data: alternatives, each of which is contained in the payload or not.

import { InvalidInput } from "../kernel/error.js";

type Scalar = string | number | boolean | null;
/** Equality at any depth; `{ in: […] }` where one of several values will do. */
export type Where<T> = {
  readonly [K in keyof T]?: T[K] extends Scalar
    ? T[K] | { readonly in: readonly T[K][] }
    : T[K] extends readonly unknown[]
      ? never
      : T[K] extends object
        ? Where<T[K]>
        : never;
};

export type Filter = Readonly<Record<string, unknown>>;

/** Each `in` doubles, triples … the alternatives: so many are kept as rows. */
const MOST_ALTERNATIVES = 100;

/** An `in` becomes alternatives: what is left is equality alone, which `jsonb` containment judges. */
export function filtersOf(where: unknown): readonly Filter[] {
  if (where === undefined) return [];
  const filters = alternatives(where, "where") as Filter[];
  if (filters.length > MOST_ALTERNATIVES) {
    throw new InvalidInput("where", `stands for ${filters.length} combinations; at most ${MOST_ALTERNATIVES}`);
  }
  return filters;
}

function alternatives(where: unknown, path: string): unknown[] {
  if (where === null || ["string", "boolean"].includes(typeof where)) return [where];
  if (typeof where === "number" && Number.isFinite(where)) return [where];
  if (typeof where !== "object" || Array.isArray(where)) {
    throw new InvalidInput(path, "must be a text, a number, a boolean, null, { in: […] } or an object of those");
  }
  const entries = Object.entries(where);
  if (entries.length === 1 && entries[0]![0] === "in" && Array.isArray(entries[0]![1])) {
    const values = entries[0]![1].flatMap((value: unknown, i: number) => alternatives(value, `${path}.in[${i}]`));
    if (values.length === 0) throw new InvalidInput(`${path}.in`, "is empty: nothing would ever match");
    return values;
  }
  let found: Record<string, unknown>[] = [{}];
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    const each = alternatives(value, `${path}.${name}`);
    found = found.flatMap((one) => each.map((option) => ({ ...one, [name]: option })));
    if (found.length > MOST_ALTERNATIVES) break;
  }
  return found;
}

/** Whether `jsonb` would say that the payload contains the filter: objects by their keys, everything else by equality. */
export function contains(payload: unknown, filter: unknown): boolean {
  if (typeof filter !== "object" || filter === null) return payload === filter;
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return false;
  return Object.entries(filter).every(
    ([name, value]) => Object.hasOwn(payload, name) && contains((payload as Filter)[name], value),
  );
}
