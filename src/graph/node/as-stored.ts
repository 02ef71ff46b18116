// What a node has returned, as it will be read from the journal.

import type { Codecs } from "../../kernel/codec/codecs.js";

/**
 * A copy for trials before it is recorded: neither a reducer nor a choice of edges changes what the journal gets, and the copy can be
 * frozen. Null: it cannot be stored, and its commit refuses it.
 */
export function asStored<T>(codecs: Codecs, value: T): T | null {
  try {
    return codecs.decode(codecs.encode(value)) as T;
  } catch {
    return null;
  }
}
