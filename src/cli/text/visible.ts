// Escapes untrusted text for a terminal: a name must not move the cursor, hide text or reverse a line.

/** Control, format (bidi, zero-width) and line-separating characters, and halves of surrogate pairs. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/gu;
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** On one line, with every invisible character written as its escape. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => SHORT[character] ?? escapeOf(character.codePointAt(0)!));
}

/** JSON on one line. JSON.stringify escapes only the oldest control characters; 0x9b alone starts an ANSI sequence. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_, i) => `\\u${hex(character.charCodeAt(i), 4)}`).join(""),
  );
}

/** Reduces an address with a password to its scheme. */
export function withoutPasswords(text: string): string {
  return text.replace(/([a-z][a-z0-9+]*):\/\/[^\s'"]*:[^\s'"]*@[^\s'"]*/gi, "$1://…");
}

function escapeOf(point: number): string {
  if (point < 0x100) return `\\x${hex(point, 2)}`;
  return point < 0x1_0000 ? `\\u${hex(point, 4)}` : `\\u{${hex(point, 5)}}`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}
