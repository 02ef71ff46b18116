// Patterns over queue names: `ml::*`, `**::batch::*`, `heavy_*`. `*` stays within a segment, `**` matches any number of
// segments.

import { InvalidInput, LimitExceeded } from "./error.js";

export interface QueuePattern {
  readonly text: string;
  matches(queue: string): boolean;
}

/** Names have at most 128 characters; with a wildcard between any two of them a pattern needs no more than this. */
export const LONGEST_PATTERN = 256;
const SEPARATOR = "::";
const ANY_SEGMENTS = "**";
const SEGMENT = /^[\w.*-]+$/;

/** Without `::` the pattern matches the last segment of a name at any depth: `heavy_*` means `**::heavy_*`. */
export function queuePattern(text: unknown, path = "pattern"): QueuePattern {
  const checked = checkPattern(text, path);
  const written = checked.split(SEPARATOR);
  const segments = written.length === 1 ? [ANY_SEGMENTS, ...written] : written;
  return { text: checked, matches: (queue) => fits(segments, queue.split(SEPARATOR), ANY_SEGMENTS, segmentFits) };
}

function checkPattern(text: unknown, path: string): string {
  if (typeof text !== "string") throw new InvalidInput(path, `a pattern is a string, not ${typeof text}`);
  if (text.length > LONGEST_PATTERN) {
    throw new LimitExceeded(path, "the length of a pattern", LONGEST_PATTERN, text.length);
  }
  for (const segment of text.split(SEPARATOR)) {
    const problem = problemOf(segment);
    if (problem) throw new InvalidInput(path, `${problem}; the pattern is ${JSON.stringify(text)}`);
  }
  return text;
}

function problemOf(segment: string): string | null {
  if (segment === "") return "a pattern has segments joined by '::', none of them empty (like 'ml::*')";
  if (!SEGMENT.test(segment)) return "a segment of a pattern has the characters A-Z a-z 0-9 _ . - and *";
  if (segment.includes(ANY_SEGMENTS) && segment !== ANY_SEGMENTS) {
    return "'**' matches whole segments and must be a segment of its own; within a segment write '*'";
  }
  return null;
}

const segmentFits = (segment: string, name: string): boolean =>
  fits(segment, name, "*", (written, character) => written === character);

/**
 * Whether the items match the pattern, in which `any` matches zero or more. Only the last `any` is ever tried again, so
 * each pair of a pattern part and an item is compared at most once: pattern length × name length at worst.
 * (Backtracking over all of them is exponential: 13 of them against 66 characters took 16 s in another matcher.)
 */
function fits(
  pattern: ArrayLike<string>,
  items: ArrayLike<string>,
  any: string,
  equals: (part: string, item: string) => boolean,
): boolean {
  let part = 0;
  let item = 0;
  let lastAny = -1;
  let afterAny = 0;
  while (item < items.length) {
    if (part < pattern.length && pattern[part] === any) {
      lastAny = part++;
      afterAny = item;
    } else if (part < pattern.length && equals(pattern[part]!, items[item]!)) {
      part++;
      item++;
    } else if (lastAny >= 0) {
      part = lastAny + 1;
      item = ++afterAny;
    } else return false;
  }
  while (part < pattern.length && pattern[part] === any) part++;
  return part === pattern.length;
}
