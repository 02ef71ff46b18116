// How large a stored value may be, and how far these limits can be raised.

import { InvalidInput } from "../error.js";

/** Limits on the size and depth of a value. */
export interface CodecLimits {
  /** UTF-8 bytes of the encoded text. */
  readonly maxBytes: number;
  /** Nested containers. */
  readonly maxDepth: number;
  /**
   * Object keys, Map entries, Set members and arrays together: bounds the time of a walk. Items of an array are not
   * counted, because each takes at least 2 bytes.
   */
  readonly maxKeys: number;
}

const DEFAULT_LIMITS: CodecLimits = { maxBytes: 1024 * 1024, maxDepth: 200, maxKeys: 100_000 };

/**
 * The upper bounds of the limits. Depth: writing and reading recurse, and writing 1,000 levels takes a quarter of
 * Node's default stack. Bytes: writing 60 MB blocks the event loop for 0.4 s.
 * Decoding accepts everything within these bounds, so lowering a limit never makes an old row unreadable.
 */
export const HIGHEST_LIMITS: CodecLimits = { maxBytes: 64 * 1024 * 1024, maxDepth: 1000, maxKeys: 10_000_000 };

export function codecLimits(options: Partial<CodecLimits>): CodecLimits {
  const limits = { ...DEFAULT_LIMITS, ...options };
  for (const [name, value] of Object.entries(limits)) {
    const highest = Object.hasOwn(HIGHEST_LIMITS, name) ? HIGHEST_LIMITS[name as keyof CodecLimits] : undefined;
    if (highest === undefined) throw new InvalidInput(name, "is not a codec limit; use maxBytes, maxDepth or maxKeys");
    if (!Number.isInteger(value) || value < 1 || value > highest) {
      throw new InvalidInput(name, `must be a whole number from 1 to ${highest}, not ${String(value)}`);
    }
  }
  return limits;
}
