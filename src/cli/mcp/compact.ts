// Answers that fit a model's context: without empty fields, and never longer than a bound.

/** About 6,000 tokens. */
export const MOST_CHARACTERS = 24_000;

/** A value of a run: shown as it is, with its empty fields. */
export class Exact {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }

  toJSON(): unknown {
    return this.value;
  }
}

/** One line of JSON; null and undefined are left out, except in values of runs. */
export function compactText(value: unknown): string {
  const text = JSON.stringify(withoutEmpty(value));
  if (text.length <= MOST_CHARACTERS) return text;
  const cut = `… cut here: the answer has ${text.length} characters. Ask for fewer rows or a smaller part.`;
  return whole(text, MOST_CHARACTERS - cut.length) + cut;
}

function withoutEmpty(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Exact) return value;
  if (Array.isArray(value)) return value.map(withoutEmpty);
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutEmpty(field)]));
}

/** A part of a long text, from a place on; `next` is where the following part begins. */
export function partOf(text: string, from: number, most: number) {
  const part = whole(text.slice(from), most);
  const end = from + part.length;
  return { part, characters: text.length, ...(end < text.length && part !== "" && { next: end }) };
}

export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${whole(text, most)}… (${text.length} characters)`;
}

/** Does not end between the halves of a surrogate pair. */
function whole(text: string, most: number): string {
  const part = text.slice(0, most);
  return /[\uD800-\uDBFF]$/.test(part) ? part.slice(0, -1) : part;
}
