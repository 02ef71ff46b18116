// Joins several names into one map key. A separator alone would let `a` + `b:c` collide with `a:b` + `c`.

export function joinKey(...parts: readonly (string | null)[]): string {
  return JSON.stringify(parts);
}
