// Turns whatever user code throws into data that can always be stored: never throws, never exceeds its limits.

import { cutText } from "../cut-text.js";
import type { Coder } from "./codec.js";
import { jsonCodec } from "./json-codec.js";
import { describe, isError, read, readItems, readText, UNREADABLE } from "./read-hostile.js";
import { decodeError, type StoredError } from "./recorded-error.js";

const MAX_NAME_BYTES = 200;
const MAX_MESSAGE_BYTES = 4 * 1024;
const MAX_STACK_BYTES = 16 * 1024;
/** Causes of causes, parts of parts. */
const MAX_LEVELS = 5;
const MAX_PARTS = 20;
/** Parts of parts multiply: 20 to the power of 5. */
const MAX_ERRORS_IN_ALL = 60;
/**
 * Messages, stacks and details together. When it is used up, each text is cut to 100 bytes. A character takes at most
 * 6 bytes once escaped, so the whole stays under 512 KiB: inside the codec's default limit of 1 MiB.
 */
const MAX_CHARACTERS_IN_ALL = 64 * 1024;
const SHORTEST_CUT = 100;

const detailsCodec = jsonCodec({ maxBytes: 4 * 1024, maxDepth: 20, maxKeys: 500 });

export function encodeError(thrown: unknown): StoredError {
  return new ErrorEncoding().encode(thrown, 0);
}

/**
 * A thrown value that is safe to inspect. A revoked Proxy throws at every touch, even of `instanceof`, so it is
 * replaced by the error that would be stored for it.
 */
export function tamed(thrown: unknown): unknown {
  if (typeof thrown !== "object" || thrown === null) return thrown;
  try {
    void (thrown instanceof Error);
    void (thrown as { code?: unknown }).code;
    return thrown;
  } catch {
    return decodeError(encodeError(thrown));
  }
}

/**
 * Encodes a thrown value. If the codec's own limit is too small, less is stored: first without stacks, causes and
 * details, then only a short message.
 */
export function storeError<Stored>(coder: Coder<Stored>, thrown: unknown): Stored {
  const { name, message, code, ...rest } = encodeError(thrown);
  const bare = code === undefined ? { name, message } : { name, message, code };
  for (const attempt of [{ ...bare, ...rest }, bare]) {
    try {
      return coder.encode(attempt, "error");
    } catch {
      // Too large for this codec: try the smaller form. A codec that cannot encode even the smallest throws below.
    }
  }
  return coder.encode({ name, message: cutText(message, 100) }, "error");
}

class ErrorEncoding {
  readonly #seen = new Set<object>();
  #errorsLeft = MAX_ERRORS_IN_ALL;
  #charactersLeft = MAX_CHARACTERS_IN_ALL;

  encode(thrown: unknown, level: number): StoredError {
    if (this.#errorsLeft-- <= 0) return notStored(`only ${MAX_ERRORS_IN_ALL} errors in all are stored`);
    if (typeof thrown !== "object" || thrown === null) return this.#encodePrimitive(thrown);
    if (this.#seen.has(thrown)) return notStored("this error is among its own causes or parts, or was stored before");
    this.#seen.add(thrown);
    return isError(thrown) ? this.#encodeError(thrown, level) : this.#encodeObject(thrown);
  }

  #encodeError(error: object, level: number): StoredError {
    const name = cutText(readText(error, "name") || "Error", MAX_NAME_BYTES);
    const message = this.#spend(readText(error, "message") ?? "", MAX_MESSAGE_BYTES);
    return {
      name,
      message,
      ...codeOf(error),
      ...this.#stack(error, name, message),
      ...this.#details(read(error, "details")),
      ...this.#cause(error, level),
      ...this.#parts(error, level),
    };
  }

  #encodeObject(thrown: object): StoredError {
    const said = readText(thrown, "message") ?? `${describe(thrown)} was thrown`;
    return {
      name: cutText(readText(thrown, "name") || "ThrownValue", MAX_NAME_BYTES),
      message: this.#spend(said, MAX_MESSAGE_BYTES),
      ...codeOf(thrown),
      ...this.#details(thrown),
    };
  }

  #encodePrimitive(thrown: unknown): StoredError {
    const said = typeof thrown === "string" ? thrown : `${describe(thrown)} was thrown`;
    return { name: "ThrownValue", message: this.#spend(said, MAX_MESSAGE_BYTES) };
  }

  /**
   * A stack starts with the message. If that was cut, the stack is cut at the same place, so that the frames are kept.
   * A stack without frames adds nothing to the name and message.
   */
  #stack(error: object, name: string, message: string): Pick<StoredError, "stack"> {
    const stack = readText(error, "stack");
    if (stack === undefined || stack === "" || stack === `${name}: ${message}`) return {};
    const whole = readText(error, "message") ?? "";
    const at = whole === message ? -1 : stack.slice(0, MAX_NAME_BYTES + whole.length).indexOf(whole);
    const kept = at < 0 ? stack : stack.slice(0, at) + message + stack.slice(at + whole.length);
    return { stack: this.#spend(kept, MAX_STACK_BYTES) };
  }

  #details(details: unknown): Pick<StoredError, "details"> {
    if (details === undefined || details === UNREADABLE) return {};
    try {
      const text = detailsCodec.encode(details, "details");
      if (text.length > this.#charactersLeft) return { details: "(not stored: the error is too large)" };
      this.#charactersLeft -= text.length;
      return { details: detailsCodec.decode(text) };
    } catch (refusal) {
      return { details: `(not stored: ${cutText((refusal as Error).message, 500)})` };
    }
  }

  #cause(error: object, level: number): Pick<StoredError, "cause"> {
    const cause = read(error, "cause");
    if (cause === undefined || cause === UNREADABLE) return {};
    if (level >= MAX_LEVELS) return { cause: notStored(`only ${MAX_LEVELS} causes in a row are stored`) };
    return { cause: this.encode(cause, level + 1) };
  }

  #parts(error: object, level: number): Pick<StoredError, "errors"> {
    const parts = readItems(read(error, "errors"), MAX_PARTS + 1);
    if (parts === undefined) return {};
    if (level >= MAX_LEVELS) return { errors: [notStored(`only ${MAX_LEVELS} levels are stored`)] };
    const errors = parts.slice(0, MAX_PARTS).map((part) => this.encode(part, level + 1));
    if (parts.length > MAX_PARTS) errors.push(notStored(`only the first ${MAX_PARTS} errors are stored`));
    return { errors };
  }

  #spend(text: string, maxBytes: number): string {
    const kept = cutText(text, Math.min(maxBytes, Math.max(this.#charactersLeft, SHORTEST_CUT)));
    this.#charactersLeft -= kept.length;
    return kept;
  }
}

function codeOf(thrown: object): Pick<StoredError, "code"> {
  const code = read(thrown, "code");
  if (typeof code === "number") return { code };
  return typeof code === "string" ? { code: cutText(code, MAX_NAME_BYTES) } : {};
}

/** Marks that something was left out, so that nothing is dropped silently. */
function notStored(why: string): StoredError {
  return { name: "NotStored", message: why };
}
