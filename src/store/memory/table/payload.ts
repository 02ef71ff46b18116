// Rows are never handed out by reference, nor is a caller's object kept: payloads are copied both ways.

import type { Payload } from "../../../kernel/codec/payload.js";

export function copyPayload(payload: Payload): Payload;
export function copyPayload(payload: Payload | null): Payload | null;
export function copyPayload(payload: Payload | null): Payload | null {
  return payload === null ? null : { codec: payload.codec, data: payload.data };
}

/** What the store itself has to say, in the plainest codec there is. */
export function jsonPayload(value: unknown): Payload {
  return { codec: "json", data: JSON.stringify(value) };
}
