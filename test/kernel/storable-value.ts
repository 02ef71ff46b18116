// Values of every kind the codec carries, nested freely, for property tests.

import fc from "fast-check";

/** Any sequence of UTF-16 units: NULs and lone surrogates included. */
export const anyString = fc.oneof(
  fc.string(),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom("\0", "\ud800", "\udc00x", '"$hf"', "$hf", "😀", "\u2028", ""),
);

export const anyKey = fc.oneof(
  anyString,
  fc.constantFrom("$hf", "v", "__proto__", "constructor", "toString", "hasOwnProperty", "toJSON", "0", "10", "length"),
);

const leaf = fc.oneof(
  fc.constantFrom(null, undefined, true, false, -0, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53 + 2, 5e-324),
  fc.double(),
  fc.integer(),
  fc.bigInt(),
  anyString,
  fc.date({ noInvalidDate: true }),
  fc.uint8Array(),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
);

export const storableValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 5 }),
    fc.array(fc.tuple(anyKey, tie("value")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
    fc
      .array(fc.tuple(anyKey, tie("value")), { maxLength: 5 })
      .map((entries) => Object.setPrototypeOf(Object.fromEntries(entries), null)),
    fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 4 }).map((entries) => new Map(entries)),
    fc.array(tie("value"), { maxLength: 4 }).map((members) => new Set(members)),
  ),
})).value;

/** Whether two storable values are the same, order of keys and entries and prototypes included. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Date) return Object.is(a.getTime(), (b as Date).getTime());
  if (a instanceof Uint8Array) return Buffer.compare(a, b as Uint8Array) === 0;
  if (a instanceof Map || a instanceof Set) return same([...a], [...(b as Iterable<unknown>)]);
  const keys = Reflect.ownKeys(a);
  if (!keys.every((key, index) => key === Reflect.ownKeys(b)[index])) return false;
  if (keys.length !== Reflect.ownKeys(b).length) return false;
  return keys.every((key) => same(Reflect.get(a, key), Reflect.get(b, key)));
}

/** `depth` arrays inside each other. */
export function nested(depth: number): unknown {
  let value: unknown = [];
  for (let i = 1; i < depth; i++) value = [value];
  return value;
}
