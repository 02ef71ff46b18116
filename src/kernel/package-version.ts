// This package's version, and a comparison of versions.

export const PACKAGE_VERSION = "0.1.0";

/** Negative, zero or positive, by the three numbers; pre-release tags are ignored. */
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
