// Freezes a value and everything in it. A frozen value is assumed to be deeply frozen, so a growing state is walked
// only where it is new.

export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value) || ArrayBuffer.isView(value)) return value;
  for (const part of Array.isArray(value) ? value : Object.values(value)) frozen(part);
  return Object.freeze(value);
}
