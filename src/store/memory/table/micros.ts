// Time inside the memory store: whole microseconds, as PostgreSQL keeps them; milliseconds only at its door.

import type { World } from "../../../kernel/world.js";

export function wallNowUs(world: World): number {
  return Math.floor(world.wallNow() * 1000);
}

/** A duration. PostgreSQL rounds an interval to its microsecond, too. */
export function toUs(ms: number): number {
  return Math.round(ms * 1000);
}

/** A point in time as records show it. */
export function toMs(us: number): number;
export function toMs(us: number | null): number | null;
export function toMs(us: number | null): number | null {
  return us === null ? null : Math.floor(us / 1000);
}
