// Copies an object without some of its fields.

export function omit<T extends object, const K extends keyof T>(from: T, ...names: readonly K[]): Omit<T, K> {
  const copy: Partial<T> = { ...from };
  for (const name of names) delete copy[name];
  return copy as Omit<T, K>;
}
