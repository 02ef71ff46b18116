// Whether a plain JSON value contains a filter, with the semantics of PostgreSQL's `jsonb @>`.

import { isPlain, objectKind } from "./codec/value-kind.js";

/** One alternative of a filter: equality only, at any depth. */
export type Filter = Readonly<Record<string, unknown>>;

/** Objects by their keys, everything else by equality. Filters have no arrays: `where` rejects them. */
export function contains(payload: unknown, filter: unknown): boolean {
  if (typeof filter !== "object" || filter === null) return payload === filter;
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return false;
  return Object.entries(filter).every(
    ([name, value]) => Object.hasOwn(payload, name) && contains((payload as Filter)[name], value),
  );
}

/** Without filters, everything matches. */
export function containsOneOf(payload: unknown, filters: readonly Filter[]): boolean {
  return filters.length === 0 || filters.some((filter) => contains(payload, filter));
}

/** `jsonb` cannot store a NUL or a lone surrogate. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;
export const isFilterableText = (text: string): boolean => !UNSTORABLE.test(text);

/**
 * The part of a value that can be filtered on: plain JSON. Dates, bigints, Maps and the like are left out (in a list,
 * null takes their place). Undefined when nothing of it is plain JSON.
 */
export function filterable(value: unknown): unknown {
  switch (typeof value) {
    case "string":
      return isFilterableText(value) ? value : undefined;
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? (value === 0 ? 0 : value) : undefined;
    case "object":
      if (value === null) return null;
      if (Array.isArray(value)) return value.map((item) => filterable(item) ?? null);
      return isPlain(objectKind(value)) ? filterableProperties(value) : undefined;
    default:
      return undefined;
  }
}

function filterableProperties(value: object): object {
  const parts = Object.entries(value).flatMap(([name, part]) => {
    const plain = isFilterableText(name) ? filterable(part) : undefined;
    return plain === undefined ? [] : [[name, plain] as const];
  });
  return Object.fromEntries(parts);
}
