// Filters on an event's payload, as data: alternatives, each of which is contained in the payload or not.

import { type Filter, isFilterableText } from "../kernel/contains.js";
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
  if (where === null || typeof where === "boolean") return [where];
  if (typeof where === "string") return [filterableText(where, path)];
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
    const each = alternatives(value, `${path}.${filterableText(name, path)}`);
    found = found.flatMap((one) => each.map((option) => ({ ...one, [name]: option })));
    if (found.length > MOST_ALTERNATIVES) break;
  }
  return found;
}

/** No event has such a text where it could be compared. */
function filterableText(text: string, path: string): string {
  if (isFilterableText(text)) return text;
  throw new InvalidInput(path, "has a text with a NUL or half of a surrogate pair: it cannot be filtered on");
}
