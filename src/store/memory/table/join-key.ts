// Several names as one map key. A separator alone would let `a` + `b:c` meet `a:b` + `c`.

export function joinKey(...parts: readonly (string | null)[]): string {
  return JSON.stringify(parts);
}
