// Converts values to stored text and back. Each stored value carries its codec's name, so that codecs can be added
// (encryption, compression) while older rows stay readable; codecs.ts selects the codec for a row.

import { HoldfastError } from "../error.js";

/** Writes and reads values: a codec (to text) or a node's list of codecs (to payloads). */
export interface Coder<Stored> {
  /** Turns a value into its stored form. `path` names the value in errors. */
  encode(value: unknown, path?: string): Stored;
  /** Turns the stored form back into the value. */
  decode(stored: Stored): unknown;
}

/** Turns values into stored text and back: JSON by default, encryption or compression of your own. */
export interface Codec extends Coder<string> {
  /** Stored with every value this codec wrote: never reuse a name for another format. */
  readonly name: string;
  /**
   * Returns text that PostgreSQL can store: no NUL, no lone surrogates. `path` is the caller's name for the value
   * ("input", "result"); errors start with it. A codec that wraps another one passes it on.
   */
  encode(value: unknown, path?: string): string;
  /** Returns the value that `encode` was given. */
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
