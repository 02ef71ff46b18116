// How large a stored value may be, and the bounds within which these limits may be set.

import { InvalidInput } from "../error.js";

export interface CodecLimits {
  /** UTF-8 bytes of the encoded text. */
  readonly maxBytes: number;
  /** Containers inside containers. */
  readonly maxDepth: number;
  /**
   * Object keys, Map entries, Set members and arrays together: it bounds the time a walk takes. Items of an array are
   * not counted; each takes 2 bytes at least.
   */
  readonly maxKeys: number;
}

const DEFAULT_LIMITS: CodecLimits = { maxBytes: 1024 * 1024, maxDepth: 200, maxKeys: 100_000 };

/**
 * What limits can be raised to. Depth: writing and reading recurse, and writing 1,000 levels takes a quarter of
 * Node's default stack. Bytes: writing 60 MB takes the event loop 0.4 s.
 * Whatever these allow, decoding accepts, so lowering a limit never makes an old row unreadable.
 */
export const HIGHEST_LIMITS: CodecLimits = { maxBytes: 64 * 1024 * 1024, maxDepth: 1000, maxKeys: 10_000_000 };

export function codecLimits(options: Partial<CodecLimits>): CodecLimits {
  const limits = { ...DEFAULT_LIMITS, ...options };
  for (const [name, value] of Object.entries(limits)) {
    const highest = Object.hasOwn(HIGHEST_LIMITS, name) ? HIGHEST_LIMITS[name as keyof CodecLimits] : undefined;
    if (highest === undefined) throw new InvalidInput(name, "is no codec limit; use maxBytes, maxDepth or maxKeys");
    if (!Number.isInteger(value) || value < 1 || value > highest) {
      throw new InvalidInput(name, `must be a whole number from 1 to ${highest}, not ${String(value)}`);
    }
  }
  return limits;
}
