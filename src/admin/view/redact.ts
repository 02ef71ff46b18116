// Replaces the values of fields whose names mark them as secret.

export const SECRET_NAMES =
  /pass(word|phrase|wd)?$|secret|token$|authorization|api[-_]?key|private[-_]?key|cookie|credential/i;
export const REDACTED = "[redacted]";

export function redacted(value: unknown, names: RegExp | null): unknown {
  if (names === null || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => redacted(item, names));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, names.test(name) ? REDACTED : redacted(item, names)]),
  );
}

/** Whether a value was hidden by `redacted`. */
export function hasRedacted(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === REDACTED;
  return Object.values(value).some(hasRedacted);
}
