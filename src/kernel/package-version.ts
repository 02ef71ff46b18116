// This package's version, and how two versions compare.

export const PACKAGE_VERSION = "0.1.0";

/** Negative, zero or positive, by the three numbers; what follows them (pre-release tags) does not count. */
export function compareVersions(a: string, b: string): number {
  const parse = (version: string) => version.split(/[.+-]/, 3).map(Number);
  const left = parse(a);
  const right = parse(b);
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] || 0) - (right[i] || 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
