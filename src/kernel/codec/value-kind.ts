// Classifies objects that can be stored by internal brand and prototype, never by a property they carry.

import { types } from "node:util";

export type ObjectKind = "object" | "bare" | "array" | "date" | "map" | "set" | "bytes" | "buffer";

/** Undefined when the object cannot be stored exactly: a class instance, a RegExp, a Promise, … */
export function objectKind(value: object): ObjectKind | undefined {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (Array.isArray(value)) return isBuiltIn(prototype, Array.prototype) ? "array" : undefined;
  if (prototype === null) return "bare";
  if (isObjectPrototype(prototype)) return "object";
  if (types.isDate(value)) return isBuiltIn(prototype, Date.prototype) ? "date" : undefined;
  if (types.isMap(value)) return isBuiltIn(prototype, Map.prototype) ? "map" : undefined;
  if (types.isSet(value)) return isBuiltIn(prototype, Set.prototype) ? "set" : undefined;
  if (types.isUint8Array(value)) return bytesKind(prototype);
  return undefined;
}

/** With or without Object.prototype: to people it is the same. */
export function isPlain(kind: ObjectKind | undefined): boolean {
  return kind === "object" || kind === "bare";
}

/** A Buffer and a Uint8Array are distinguished: `toString` differs, so each comes back as itself. */
function bytesKind(prototype: object): ObjectKind | undefined {
  if (prototype === Buffer.prototype) return "buffer";
  if (prototype === Uint8Array.prototype) return "bytes";
  const typedArray: object | null = Object.getPrototypeOf(prototype);
  return isBuiltIn(typedArray, Object.getPrototypeOf(Uint8Array.prototype)) ? "bytes" : undefined;
}

/**
 * Also true for the same class of another realm (test runners run code in `vm` contexts); a subclass is one level
 * deeper.
 */
function isBuiltIn(prototype: object | null, builtIn: object): boolean {
  if (prototype === builtIn) return true;
  return prototype !== null && isObjectPrototype(Object.getPrototypeOf(prototype));
}

function isObjectPrototype(prototype: object | null): boolean {
  if (prototype === Object.prototype) return true;
  if (prototype === null || Object.getPrototypeOf(prototype) !== null) return false;
  return Object.hasOwn(prototype, "isPrototypeOf");
}

/** Names a value in an error: "a function", "a Promise". Never throws. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  try {
    const name: unknown = value.constructor?.name;
    const hint = "rows" in value && "rowCount" in value ? " (of a query: return its rows, or nothing)" : "";
    if (typeof name === "string" && name !== "" && name !== "Object")
      return `an instance of ${name.slice(0, 80)}${hint}`;
  } catch {
    // A getter or a Proxy threw: the tag below still works.
  }
  return "an object with a prototype of its own";
}
