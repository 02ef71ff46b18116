// Names as keys of the memory store's maps, and their order.

/** By code unit, as in the database, never by a language's rules. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Several names as one map key. A separator alone would let `a` + `b:c` collide with `a:b` + `c`. */
export function joinKey(...parts: readonly (string | null)[]): string {
  return JSON.stringify(parts);
}
