// Turns parsed JSON back into the value it was written from. Changes the parsed tree in place: nothing else references
// it.

import { PayloadCorrupt } from "./codec.js";
import { HIGHEST_LIMITS } from "./codec-limits.js";
import { BIGINT_DIGITS, TAG } from "./json-tag.js";
import { setOwn } from "./own-property.js";

type Parsed = Record<string, unknown>;

const SPECIAL_NUMBERS = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  ["-0", -0],
]);

export function reviveJson(parsed: unknown, depth = 0): unknown {
  if (typeof parsed !== "object" || parsed === null) return parsed;
  if (depth >= HIGHEST_LIMITS.maxDepth) throw new PayloadCorrupt(`it is nested deeper than ${HIGHEST_LIMITS.maxDepth}`);
  if (Array.isArray(parsed)) return reviveItems(parsed, depth);
  return Object.hasOwn(parsed, TAG) ? reviveTagged(parsed as Parsed, depth) : reviveProperties(parsed as Parsed, depth);
}

function reviveItems(items: unknown[], depth: number): unknown[] {
  for (let i = 0; i < items.length; i++) items[i] = reviveJson(items[i], depth + 1);
  return items;
}

function reviveProperties(object: Parsed, depth: number): Parsed {
  for (const key of Object.keys(object)) {
    const item = object[key];
    const revived = reviveJson(item, depth + 1);
    if (revived !== item) setOwn(object, key, revived);
  }
  return object;
}

function reviveTagged(node: Parsed, depth: number): unknown {
  const kind = node[TAG];
  const content = node["v"];
  if (Object.keys(node).length !== (kind === "undefined" ? 1 : 2)) return corrupt(kind);
  switch (kind) {
    case "undefined":
      return undefined;
    case "number":
      return typeof content === "string" && SPECIAL_NUMBERS.has(content) ? SPECIAL_NUMBERS.get(content) : corrupt(kind);
    case "bigint":
      return typeof content === "string" && BIGINT_DIGITS.test(content) ? BigInt(content) : corrupt(kind);
    case "date":
      return reviveDate(content);
    case "bytes":
      return new Uint8Array(reviveBase64(content, kind));
    case "buffer":
      return reviveBase64(content, kind);
    case "map":
      return reviveMap(content, depth);
    case "set":
      return reviveSet(content, depth);
    case "object":
      if (typeof content !== "object" || content === null || Array.isArray(content)) return corrupt(kind);
      return reviveProperties(content as Parsed, depth);
    case "bare":
      if (typeof content !== "object" || content === null || Array.isArray(content)) return corrupt(kind);
      return Object.setPrototypeOf(reviveProperties(content as Parsed, depth), null);
    default:
      return corrupt(kind);
  }
}

function reviveDate(content: unknown): Date {
  if (typeof content !== "string") return corrupt("date");
  const date = new Date(content);
  if (Number.isNaN(date.getTime()) || date.toISOString() !== content) return corrupt("date");
  return date;
}

/** Node skips characters that are not base64, so the result is encoded again and compared. */
function reviveBase64(content: unknown, kind: string): Buffer {
  if (typeof content !== "string") return corrupt(kind);
  const bytes = Buffer.from(content, "base64");
  return bytes.toString("base64") === content ? bytes : corrupt(kind);
}

function reviveMap(content: unknown, depth: number): Map<unknown, unknown> {
  if (!Array.isArray(content)) return corrupt("map");
  const map = new Map<unknown, unknown>();
  for (const entry of content) {
    if (!Array.isArray(entry) || entry.length !== 2) return corrupt("map");
    map.set(reviveJson(entry[0], depth + 1), reviveJson(entry[1], depth + 1));
  }
  return map.size === content.length ? map : corrupt("map");
}

function reviveSet(content: unknown, depth: number): Set<unknown> {
  if (!Array.isArray(content)) return corrupt("set");
  const set = new Set(reviveItems(content, depth));
  return set.size === content.length ? set : corrupt("set");
}

function corrupt(kind: unknown): never {
  throw new PayloadCorrupt(`a value tagged ${JSON.stringify(kind)?.slice(0, 40)} is malformed or of an unknown kind`);
}
