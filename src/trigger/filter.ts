// Filters on an event's payload, as data: alternatives, of which the payload must contain one.

import { type Filter, isFilterableText } from "../kernel/contains.js";
import { InvalidInput } from "../kernel/error.js";

type Scalar = string | number | boolean | null;
/** Equality at any depth; `{ in: […] }` for one of several values. */
export type Where<T> = {
  readonly [K in keyof T]?: T[K] extends Scalar
    ? T[K] | { readonly in: readonly T[K][] }
    : T[K] extends readonly unknown[]
      ? never
      : T[K] extends object
        ? Where<T[K]>
        : never;
};

/** Each `in` multiplies the alternatives; each alternative is stored as a row, so their number is bounded. */
const MOST_ALTERNATIVES = 100;

/** Expands each `in` into alternatives: what remains is equality, which `jsonb` containment can judge. */
export function filtersOf(where: unknown): readonly Filter[] {
  if (where === undefined) return [];
  const filters = alternatives(where, "where") as Filter[];
  if (filters.length > MOST_ALTERNATIVES) {
    throw new InvalidInput(
      "where",
      `expands to ${filters.length} combinations; at most ${MOST_ALTERNATIVES} are allowed`,
    );
  }
  return filters;
}

function alternatives(where: unknown, path: string): unknown[] {
  if (where === null || typeof where === "boolean") return [where];
  if (typeof where === "string") return [filterableText(where, path)];
  if (typeof where === "number" && Number.isFinite(where)) return [where];
  if (typeof where !== "object" || Array.isArray(where)) {
    throw new InvalidInput(path, "must be a string, a number, a boolean, null, { in: […] } or an object of those");
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

/** PostgreSQL cannot store such a text, so no event can match it. */
function filterableText(text: string, path: string): string {
  if (isFilterableText(text)) return text;
  throw new InvalidInput(path, "contains a NUL or half of a surrogate pair, which cannot be filtered on");
}
