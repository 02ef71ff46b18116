// Freezes a value and what it holds. What is frozen already is taken to be frozen to its depths, so a state that grows is
// walked only where it is new.

export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value) || ArrayBuffer.isView(value)) return value;
  for (const part of Array.isArray(value) ? value : Object.values(value)) frozen(part);
  return Object.freeze(value);
}
