// Time inside the memory store: whole microseconds, as in PostgreSQL; milliseconds only at its interface.

import type { World } from "../../../kernel/world.js";

export function wallNowUs(world: World): number {
  return Math.floor(world.wallNow() * 1000);
}

/** A duration. PostgreSQL also rounds an interval to its microsecond. */
export function toUs(ms: number): number {
  return Math.round(ms * 1000);
}

/** A point in time as records show it. */
export function toMs(us: number): number;
export function toMs(us: number | null): number | null;
export function toMs(us: number | null): number | null {
  return us === null ? null : Math.floor(us / 1000);
}
