// A value or an error as the caller reads it back later: user code sees this form the first time, too.

import type { Coder } from "../../src/kernel/codec/codec.js";
import { decodeError, type RecordedError } from "../../src/kernel/codec/recorded-error.js";
import { storeError } from "../../src/kernel/codec/stored-error.js";

export function roundTrip<Stored>(coder: Coder<Stored>, value: unknown, path?: string): unknown {
  return coder.decode(coder.encode(value, path));
}

export function roundTripError<Stored>(coder: Coder<Stored>, thrown: unknown): RecordedError {
  return decodeError(coder.decode(storeError(coder, thrown)));
}
