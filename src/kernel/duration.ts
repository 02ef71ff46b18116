// Durations as people write them ("90s", "1.5h"), converted to milliseconds.

import { InvalidInput, LimitExceeded } from "./error.js";

export type DurationUnit = "ms" | "s" | "m" | "h" | "d";

/** Whole milliseconds, or a number with a unit. */
export type Duration = number | `${number}${DurationUnit}`;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNIT_MS = new Map([
  ["ms", 1],
  ["s", SECOND],
  ["m", MINUTE],
  ["h", HOUR],
  ["d", DAY],
]);

/** 100 years. A larger number is a mistake (seconds since 1970, for example), and timestamps would run out of range. */
export const MAX_DURATION_MS = 36_525 * DAY;

const ACCEPTED = 'a duration is whole milliseconds (500) or a string like "500ms", "90s", "1.5m", "2h", "3d"';
const WRITTEN = /^(\d{1,15})(?:\.(\d{1,15}))?(ms|s|m|h|d)$/;

export function toMs(duration: Duration, path: string): number {
  const ms = typeof duration === "number" ? duration : parse(duration, path);
  if (Number.isNaN(ms) || ms < 0) throw new InvalidInput(path, `${ACCEPTED}, and not negative; it is ${ms}`);
  if (ms > MAX_DURATION_MS) throw new LimitExceeded(path, "the duration in milliseconds", MAX_DURATION_MS, ms);
  if (!Number.isInteger(ms)) throw new InvalidInput(path, `${ACCEPTED}; it has a fraction of a millisecond: ${ms}`);
  return ms === 0 ? 0 : ms;
}

/** In integers throughout: 1.005 * 1000 is 1004.9999999999999. */
function parse(text: unknown, path: string): number {
  const match = typeof text === "string" ? WRITTEN.exec(text) : null;
  if (match === null) throw new InvalidInput(path, `${ACCEPTED}; it is ${shown(text)}`);
  const [, whole = "", fraction = "", unit = ""] = match;
  const scaled = BigInt(whole + fraction) * BigInt(UNIT_MS.get(unit)!);
  const divisor = 10n ** BigInt(fraction.length);
  if (scaled % divisor !== 0n) {
    throw new InvalidInput(path, `${ACCEPTED}; it has a fraction of a millisecond: ${shown(text)}`);
  }
  return Number(scaled / divisor);
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 40)) : value === null ? "null" : `a ${typeof value}`;
}

/** For people: at most two units, "250ms", "1.5s", "2m 30s", "3d 4h". */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return String(ms);
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 999.5) return `${Math.round(ms)}ms`;
  const tenths = Math.round(ms / 100);
  if (tenths < 600) return `${tenths / 10}s`;
  if (ms < HOUR - SECOND / 2) return twoUnits(ms, { ms: MINUTE, name: "m" }, { ms: SECOND, name: "s" });
  if (ms < DAY - MINUTE / 2) return twoUnits(ms, { ms: HOUR, name: "h" }, { ms: MINUTE, name: "m" });
  return twoUnits(ms, { ms: DAY, name: "d" }, { ms: HOUR, name: "h" });
}

interface Unit {
  readonly ms: number;
  readonly name: string;
}

function twoUnits(ms: number, large: Unit, small: Unit): string {
  const smalls = Math.round(ms / small.ms);
  const perLarge = large.ms / small.ms;
  const rest = smalls % perLarge;
  const head = `${Math.floor(smalls / perLarge)}${large.name}`;
  return rest === 0 ? head : `${head} ${rest}${small.name}`;
}
