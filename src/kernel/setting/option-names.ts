// Checks the names of options: an unknown one is an error that names the right place when there is one.

import { InvalidInput } from "../error.js";

/** Each option by its name. A group has the names of its own options. */
export type OptionNames = Readonly<Record<string, true | Readonly<Record<string, true>>>>;

export type Names<T> = { readonly [Name in keyof Required<T>]: true };

/** Refuses unknown options of a call. */
export function checkOptions(call: string, options: unknown, names: Readonly<Record<string, true>>): void {
  if (!isGroup(options)) throw new InvalidInput(`options of ${call}`, "must be an object");
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(names, name));
  if (unknown.length === 0) return;
  const list = Object.keys(names).join(", ");
  throw new InvalidInput(`options of ${call}`, `${unknown.join(", ")}: no such option; the options are ${list}`);
}

/** Every unknown name and every group that is not an object is added to `problems`, under its path. */
export function checkNames(options: object, names: OptionNames, problems: Map<string, string>): void {
  for (const [name, value] of Object.entries(options)) {
    const known = Object.hasOwn(names, name) ? names[name]! : null;
    if (known === null) problems.set(name, `${name} is not an option; ${advice(name, names)}`);
    else if (known !== true && value !== undefined) checkGroup(name, value, known, problems);
  }
}

export function isGroup(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkGroup(
  group: string,
  value: unknown,
  names: Readonly<Record<string, true>>,
  problems: Map<string, string>,
): void {
  const list = Object.keys(names).join(", ");
  if (!isGroup(value)) {
    problems.set(group, `${group} must be an object; its options are ${list}`);
    return;
  }
  for (const name of Object.keys(value)) {
    const path = `${group}.${name}`;
    if (!Object.hasOwn(names, name))
      problems.set(path, `${path} is not an option; the options of ${group} are ${list}`);
  }
}

function advice(name: string, names: OptionNames): string {
  const group = Object.keys(names).find((one) => names[one] !== true && Object.hasOwn(names[one]!, name));
  return group === undefined ? `the options are ${Object.keys(names).join(", ")}` : `write ${group}.${name}`;
}
