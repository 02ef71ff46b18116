// The trace context of a run: the W3C `traceparent` of its start, stored as a parameter of the codec's name of its input.
//
// There it costs nothing when no trace is active: no column, no statement, no byte. It follows the input wherever that is copied.

import type { Payload } from "./payload.js";

const MARK = ";trace=";
const CONTEXT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The payload with the context; as it is when there is none. */
export function withTrace(payload: Payload, context: string | null): Payload {
  if (context === null || !CONTEXT.test(context)) return payload;
  return { codec: `${codecOf(payload.codec)}${MARK}${context}`, data: payload.data };
}

export function traceOf({ codec }: Payload): string | null {
  const at = codec.indexOf(MARK);
  const context = at < 0 ? null : codec.slice(at + MARK.length);
  return context !== null && CONTEXT.test(context) ? context : null;
}

/** The name of the codec alone. */
export function codecOf(codec: string): string {
  const at = codec.indexOf(MARK);
  return at < 0 ? codec : codec.slice(0, at);
}
