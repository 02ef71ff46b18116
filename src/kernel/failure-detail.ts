// One line of text for any thrown value: always storable, so that recording a failure cannot itself fail.

import { encodeError } from "./codec/stored-error.js";
import { cutText } from "./cut-text.js";

const MAX_BYTES = 4 * 1024;
/** What a text column rejects: NUL, and halves of surrogate pairs. */
const UNSTORABLE = /[\0\p{Surrogate}]/gu;

export function failureDetail(thrown: unknown): string {
  const { name, message } = encodeError(thrown);
  return cutText(`${name}: ${message}`, MAX_BYTES).replaceAll(UNSTORABLE, "\u{FFFD}");
}
