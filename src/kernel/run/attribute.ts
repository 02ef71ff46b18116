// Search attributes of a run: a few named scalars by which runs are listed.

import { InvalidInput, LimitExceeded } from "../error.js";
import { attributeName, attributeText } from "../name.js";

export type Attribute = string | number | boolean;
export type Attributes = Readonly<Record<string, Attribute>>;
/** Null removes an attribute. */
export type AttributeChanges = Readonly<Record<string, Attribute | null>>;

export const MOST_ATTRIBUTES = 8;

/** Returns the attributes if each has a valid name and value, and they are not too many. */
export function attributesOf(given: unknown, path = "attributes"): Attributes {
  const attributes = attributeChangesOf(given, path);
  const removed = Object.keys(attributes).find((name) => attributes[name] === null);
  if (removed !== undefined) throw new InvalidInput(`${path}.${removed}`, SCALARS);
  return attributes as Attributes;
}

export function attributeChangesOf(given: unknown, path = "attributes"): AttributeChanges {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new InvalidInput(path, "must be an object of names and their values");
  const entries = Object.entries(given);
  if (entries.length > MOST_ATTRIBUTES) throw new TooManyAttributes(path, entries.length);
  for (const [name, value] of entries) {
    attributeName(name, path);
    checkValue(value, `${path}.${name}`);
  }
  return given as AttributeChanges;
}

/** A run has at most `MOST_ATTRIBUTES`; nothing was changed. */
export class TooManyAttributes extends LimitExceeded {
  constructor(path: string, count: number) {
    super(path, "the number of attributes of a run", MOST_ATTRIBUTES, count);
  }
}

const SCALARS = "must be a string, a finite number or a boolean";

function checkValue(value: unknown, path: string): void {
  if (value === null || typeof value === "boolean" || Number.isFinite(value)) return;
  if (typeof value !== "string") throw new InvalidInput(path, SCALARS);
  attributeText(value, path);
}

/** The stored form. As JSON, `"1"` and `1` differ, and equal values have equal texts. */
export function attributeData(value: Attribute): string {
  return JSON.stringify(value);
}
