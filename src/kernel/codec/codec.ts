// How values become stored text and come back. Each stored value keeps its codec's name beside it, so that codecs
// can be added (encryption, compression) while older rows stay readable; codecs.ts picks the codec for a row.

import { HoldfastError } from "../error.js";

/** What writes values and reads them again: a codec (to text) or a node's list of them (to payloads). */
export interface Coder<Stored> {
  encode(value: unknown, path?: string): Stored;
  decode(stored: Stored): unknown;
}

export interface Codec extends Coder<string> {
  /** Stored with every value this codec wrote: never reuse a name for another format. */
  readonly name: string;
  /**
   * Answers text that PostgreSQL can keep: no NUL, no lone surrogates. `path` is what the caller calls the value
   * ("input", "result"); errors start with it. A codec that wraps another one passes it on.
   */
  encode(value: unknown, path?: string): string;
  decode(text: string): unknown;
}

/** Stored text is not what its codec wrote. */
export class PayloadCorrupt extends HoldfastError {
  readonly code = "PAYLOAD_CORRUPT";

  constructor(problem: string, options?: { cause?: unknown }) {
    super(
      `a stored value cannot be read: ${problem}. It was changed outside Holdfast, or written by a newer version; ` +
        "restore the row from a backup, or run the version that wrote it",
      options,
    );
  }
}

/** What the caller gets back later, now. User code sees this the first time too, so a replay holds no surprise. */
export function roundTrip<Stored>(coder: Coder<Stored>, value: unknown, path?: string): unknown {
  return coder.decode(coder.encode(value, path));
}
