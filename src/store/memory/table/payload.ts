// Copies payloads both ways: rows are never returned by reference, nor is a caller's object kept.

import type { Payload } from "../../../kernel/codec/payload.js";

export function copyPayload(payload: Payload): Payload;
export function copyPayload(payload: Payload | null): Payload | null;
export function copyPayload(payload: Payload | null): Payload | null {
  return payload === null ? null : { codec: payload.codec, data: payload.data };
}

/** A payload written by the store itself, in the plain codec. */
export function jsonPayload(value: unknown): Payload {
  return { codec: "json", data: JSON.stringify(value) };
}
