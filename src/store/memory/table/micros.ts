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

/** A record with these points in time as a row stores them. */
export type Stored<Of, Times extends keyof Of & string> = Omit<Of, Times> & {
  readonly [Name in Times as `${Name}Us`]: Of[Name];
};

type Shown<Row> = { readonly [Name in keyof Row as Name extends `${infer Time}Us` ? Time : Name]: Row[Name] };

/** A row as a record shows it: its points in time in milliseconds, without `Us` in their names. */
export function shown<Row extends object>(row: Row): Shown<Row> {
  const fields = Object.entries(row).map(([name, value]) =>
    name.endsWith("Us") ? [name.slice(0, -2), toMs(value as number | null)] : [name, value],
  );
  return Object.fromEntries(fields) as Shown<Row>;
}
