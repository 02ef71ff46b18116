// Canonical text and payload hashes: the same for equal payloads, different for anything else.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalText, payloadHash } from "../../src/kernel/codec/canonical.js";
import { jsonCodec } from "../../src/kernel/codec/json-codec.js";
import { InvalidInput } from "../../src/kernel/error.js";
import { roundTrip } from "./round-trip.js";
import { same, storableValue } from "./storable-value.js";

describe("canonical text", () => {
  it("is the same whatever the order of keys, entries and members", () => {
    fc.assert(
      fc.property(storableValue, (value) => {
        expect(canonicalText(reversed(value))).toBe(canonicalText(value));
      }),
      { numRuns: 1000 },
    );
  });

  it("is the same before a value is stored and after it is read back", () => {
    fc.assert(
      fc.property(storableValue, (value) => {
        expect(payloadHash(roundTrip(jsonCodec(), value))).toBe(payloadHash(value));
      }),
    );
  });

  it("differs where values differ", () => {
    fc.assert(
      fc.property(storableValue, storableValue, (a, b) => {
        if (canonicalText(a) === canonicalText(b)) expect(same(sorted(a), sorted(b))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it("keeps all kinds apart", () => {
    const bytes = new Uint8Array([1]);
    // biome-ignore format: a table
    const values = [
      null, undefined, 0, -0, 0n, "0", "", false, true, Number.NaN, "NaN", [], {}, [null], [undefined], [[]], new Map(),
      new Set(), new Set([[]]), new Date(0), Object.create(null), "1970-01-01T00:00:00.000Z", bytes, Buffer.from(bytes),
      [1], "AQ==", { a: 1 }, { a: undefined }, { a: null }, new Map([["a", 1]]), new Map([["a", undefined]]),
      { $hf: "map", v: [["a", 1]] }, { $hf: "undefined" }, { $hf: "object", v: { $hf: "undefined" } },
    ];
    expect(new Set(values.map((value) => payloadHash(value))).size).toBe(values.length);
  });

  it("sorts keys and reads like JSON", () => {
    expect(canonicalText({ b: [1, { d: 1, c: 2 }], a: "x" })).toBe('{"a":"x","b":[1,{"c":2,"d":1}]}');
  });

  it("has a hash that other programs can compute", () => {
    // printf '{"a":1}' | sha256sum
    expect(payloadHash({ a: 1 })).toBe("015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862");
  });

  it("refuses what cannot be stored, with its path", () => {
    expect(() => payloadHash({ a: [() => 1] }, "input")).toThrow(InvalidInput);
    expect(() => payloadHash({ a: [() => 1] }, "input")).toThrow("input.a[0]");
  });
});

function reversed(value: unknown): unknown {
  if (value instanceof Map) return new Map([...value].reverse().map(([k, v]) => [reversed(k), reversed(v)]));
  if (value instanceof Set) return new Set([...value].reverse().map(reversed));
  if (Array.isArray(value)) return value.map(reversed);
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([k, v]) => [k, reversed(v)]),
  );
}

function sorted(value: unknown): unknown {
  const byText = (a: unknown, b: unknown) => (canonicalText(a) < canonicalText(b) ? -1 : 1);
  if (value instanceof Map) return new Map([...value].map(([k, v]) => [sorted(k), sorted(v)] as const).sort(byText));
  if (value instanceof Set) return new Set([...value].map(sorted).sort(byText));
  if (Array.isArray(value)) return value.map(sorted);
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)]),
  );
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
