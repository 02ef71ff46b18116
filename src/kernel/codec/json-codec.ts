// The default codec: readable JSON, with tags only for what JSON cannot express. It preserves null, booleans, strings,
// numbers (-0, NaN, ±Infinity), undefined, bigints, valid Dates, Maps, Sets, Uint8Arrays, Buffers, arrays and plain
// objects, with or without a prototype; everything else is rejected with its path. A value that is referenced twice
// comes back as two copies.

import { LimitExceeded } from "../error.js";
import { type Codec, PayloadCorrupt } from "./codec.js";
import { type CodecLimits, codecLimits } from "./codec-limits.js";
import { prepareJson } from "./json-prepare.js";
import { reviveJson } from "./json-revive.js";
import { TAG } from "./json-tag.js";

export const JSON_CODEC_NAME = "json";
/** A text without these characters contains no tag: in a string value their quotes are escaped. */
const QUOTED_TAG = `"${TAG}"`;

/** The default codec: JSON, also for dates, big integers, maps, sets and bytes, with limits on size and depth. */
export function jsonCodec(options: Partial<CodecLimits> = {}): Codec {
  const limits = codecLimits(options);
  return {
    name: JSON_CODEC_NAME,
    encode(value, path = "value") {
      const text = JSON.stringify(prepareJson(value, limits, path));
      expectBytes(text, limits.maxBytes, path);
      return text;
    },
    decode(text) {
      const parsed = parse(text);
      return text.includes(QUOTED_TAG) ? reviveJson(parsed) : parsed;
    },
  };
}

function expectBytes(text: string, maxBytes: number, path: string): void {
  if (text.length * 3 <= maxBytes) return;
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) throw new LimitExceeded(path, "encoded size in bytes", maxBytes, bytes);
}

/** The SyntaxError is dropped: its message quotes the text, which may contain secrets. */
function parse(text: string): unknown {
  if (typeof text !== "string")
    throw new PayloadCorrupt(`it is ${text === null ? "null" : `a ${typeof text}`}, not text`);
  try {
    return JSON.parse(text);
  } catch {
    throw new PayloadCorrupt(`its ${text.length} characters are not JSON`);
  }
}
