// Formats points in time for people ("12 s ago", "in 3 h") and for programs (ISO 8601).

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
];

/** The two clocks may differ: less than a second counts as now. */
export function timeAgo(at: number, now: number): string {
  const passed = now - at;
  if (Math.abs(passed) < 1_000) return "now";
  return passed > 0 ? `${span(passed)} ago` : `in ${span(-passed)}`;
}

/** One unit, the largest with a value of at least two: "90 min", "36 h", "3 d". */
export function span(ms: number): string {
  const [name, size] = UNITS.find(([, size]) => ms >= 2 * size) ?? UNITS.at(-1)!;
  return `${Math.round(ms / size)} ${name}`;
}

export function isoTime(at: number): string;
export function isoTime(at: number | null): string | null;
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** Time of day in UTC, "14:03:04.123"; optionally with the day. */
export function clockTime(at: number, withDay: boolean): string {
  const iso = isoTime(at);
  return withDay ? `${iso.slice(0, 10)} ${iso.slice(11, 23)}` : iso.slice(11, 23);
}
