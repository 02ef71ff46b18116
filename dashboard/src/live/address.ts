// Addresses of pages: what is seen is in the URL, and reading and writing it are pure.

export interface Address {
  /** Below the mount prefix, with a leading slash. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

/** `base` ends with a slash. */
export function readAddress(pathname: string, search: string, base: string): Address {
  const below = pathname.startsWith(base) ? pathname.slice(base.length) : "";
  return { path: `/${below.replace(/\/+$/, "")}`, query: Object.fromEntries(new URLSearchParams(search)) };
}

export function writeAddress({ path, query }: Address, base: string): string {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const search = new URLSearchParams(given).toString();
  return base.replace(/\/$/, "") + path + (search === "" ? "" : `?${search}`);
}

/** An empty or null value removes the field. */
export function withQuery(address: Address, changes: Readonly<Record<string, string | null>>): Address {
  const merged = Object.entries({ ...address.query, ...changes }).filter(
    (pair): pair is [string, string] => pair[1] !== null && pair[1] !== "",
  );
  return { path: address.path, query: Object.fromEntries(merged) };
}

/** The values of a pattern such as `/runs/:id`; null when the path is of another form. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const wanted = pattern.split("/");
  const parts = path.split("/");
  if (wanted.length !== parts.length) return null;
  const values: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const given = parts[i] as string;
    if (part.startsWith(":")) values[part.slice(1)] = decoded(given);
    else if (part !== given) return null;
  }
  return values;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A relative time such as `-1h` as an instant; an instant as it is; null when it is neither. */
export function instantOf(text: string, now: number): string | null {
  const relative = /^-(\d{1,6})([smhd])$/.exec(text);
  if (relative) return new Date(now - Number(relative[1]) * (UNIT_MS[relative[2] as string] as number)).toISOString();
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}

/** The query with its relative times replaced by instants; null when there are none. */
export function fixedTimes(
  query: Readonly<Record<string, string>>,
  now: number,
): Readonly<Record<string, string>> | null {
  const relative = Object.entries(query).filter(([name, value]) => isTime(name) && value.startsWith("-"));
  if (relative.length === 0) return null;
  const fixed = relative.map(([name, value]) => [name, instantOf(value, now) ?? ""]);
  return { ...query, ...Object.fromEntries(fixed) };
}

const isTime = (name: string) => name === "from" || name === "to";

export const RUN_FILTERS = ["state", "program", "queue", "stack", "key", "node", "parent", "from", "to"] as const;
export type RunFilterName = (typeof RUN_FILTERS)[number];

export interface Chip {
  readonly name: RunFilterName;
  readonly value: string;
}

/** The filters of a query in a fixed order, one chip each. */
export function chipsOf(query: Readonly<Record<string, string>>): readonly Chip[] {
  return RUN_FILTERS.flatMap((name) => {
    const value = query[name];
    return value === undefined || value === "" ? [] : [{ name, value }];
  });
}

/** Ids carry their time in the first two groups; the third counts those that one process made in the same millisecond. */
export function shortId(id: string): string {
  return id.slice(0, id.slice(14, 18) === "7000" ? 13 : 18);
}
