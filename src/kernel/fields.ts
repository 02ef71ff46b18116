// Reads an object from outside as data: its fields by name, without unknown ones.

import { InvalidInput } from "./error.js";

export type Fields = Readonly<Record<string, unknown>>;

/** Throws InvalidInput with the path of a value that is not an object, or of the first unknown name. */
export function fields(path: string, value: unknown, known?: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidInput(path, "must be an object");
  const unknown = known && Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new InvalidInput(`${path}.${unknown}`, `is unknown; the fields are ${known!.join(", ")}`);
  return value as Fields;
}

export function textField(path: string, value: unknown, what: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new InvalidInput(path, `must be ${what}`);
}

export function textsField(path: string, value: unknown, what: string): readonly string[] {
  if (!Array.isArray(value)) throw new InvalidInput(path, `must be a list of ${what}`);
  return value.map((one, i) => textField(`${path}[${i}]`, one, `one of ${what}`));
}
