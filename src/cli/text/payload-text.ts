// Formats stored values: one line for tables, in full for reading, and as data for programs.

import { inspect } from "node:util";
import { codecs } from "../../kernel/codec/codecs.js";
import { JSON_CODEC_NAME } from "../../kernel/codec/json-codec.js";
import { TAG } from "../../kernel/codec/json-tag.js";
import type { Payload } from "../../kernel/codec/payload.js";
import { HoldfastError } from "../../kernel/error.js";

/** Only `json`: the command line does not have the application's codecs (encryption, for example). */
const known = codecs();

export type Decoded = { readonly value: unknown } | { readonly unreadable: string };

export function decode(payload: Payload): Decoded {
  try {
    return { value: known.decode(payload) };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { codec, data } = payload;
    if (codec !== JSON_CODEC_NAME) return { unreadable: `(${data.length} characters of codec ${codec})` };
    return { unreadable: `(unreadable: ${data.length} characters that are not JSON)` };
  }
}

/** On one line. Empty for undefined. */
export function payloadLine(payload: Payload | null): string {
  if (payload === null) return "";
  const decoded = decode(payload);
  if ("unreadable" in decoded) return decoded.unreadable;
  if (decoded.value === undefined) return "";
  if (isPlainJson(payload)) return payload.data;
  return inspect(decoded.value, { depth: 8, breakLength: Number.POSITIVE_INFINITY, compact: true });
}

/** Over several lines if necessary; one if it fits. */
export function wholePayload(payload: Payload, width: number): string[] {
  const decoded = decode(payload);
  if ("unreadable" in decoded) return [decoded.unreadable];
  if (decoded.value === undefined) return [];
  if (isPlainJson(payload))
    return payload.data.length <= width ? [payload.data] : JSON.stringify(decoded.value, null, 2).split("\n");
  const everything = { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: width };
  return inspect(decoded.value, everything).split("\n");
}

/** The stored form: values that JSON cannot express keep their tag (`{"$hf":"date","v":…}`). */
export function payloadJson(payload: Payload | null): unknown {
  if (payload === null) return null;
  const { codec, data } = payload;
  if ("unreadable" in decode(payload)) return { codec, data };
  return { codec, value: JSON.parse(data) };
}

/** Such output can be passed to `holdfast signal` again. */
function isPlainJson({ codec, data }: Payload): boolean {
  return codec === JSON_CODEC_NAME && !data.includes(`"${TAG}"`);
}
