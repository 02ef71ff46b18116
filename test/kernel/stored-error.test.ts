// F74: whatever is thrown is recorded, bounded, and comes back as an error.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PayloadCorrupt } from "../../src/kernel/codec/codec.js";
import { jsonCodec } from "../../src/kernel/codec/json-codec.js";
import { decodeError, RecordedError } from "../../src/kernel/codec/recorded-error.js";
import { encodeError, storeError } from "../../src/kernel/codec/stored-error.js";
import { LimitExceeded } from "../../src/kernel/error.js";
import { roundTripError } from "./round-trip.js";
import { anyString, storableValue } from "./storable-value.js";

const codec = jsonCodec();
const UNSTORABLE_TEXT = /[\0\p{Surrogate}]/u;

function throwing(): never {
  throw new RangeError("do not touch");
}
const touchy = () => new Proxy({}, { get: throwing, getPrototypeOf: throwing, ownKeys: throwing, has: throwing });
const withGetters = () => {
  const error = new Error("x");
  const members = [error.stack && "stack", "message", "name", "code", "cause", "errors", "details"];
  for (const member of members) Object.defineProperty(error, `${member}`, { get: throwing });
  return error;
};
const cyclicObject = () => {
  const value: Record<string, unknown> = { a: 1 };
  value["self"] = value;
  return value;
};
const cyclicCause = () => {
  const error = new Error("round");
  error.cause = new Error("and round", { cause: error });
  return error;
};
const deepCause = () =>
  Array.from({ length: 50 }).reduce<Error>((cause, _, i) => new Error(`${i}`, { cause }), new Error("root"));
const wide = (width: number, levels: number): Error =>
  levels === 0
    ? new Error("leaf")
    : new AggregateError(
        Array.from({ length: width }, () => wide(width, levels - 1)),
        "wide",
      );
const hugeStack = () =>
  Object.assign(new Error("x"), { stack: `Error: x\n${"    at f (file.js:1:1)\n".repeat(500_000)}` });

// biome-ignore format: a table
const HOSTILE: [string, () => unknown][] = [
  ["null", () => null],
  ["undefined", () => undefined],
  ["a string", () => "boom"],
  ["a string of 10 MB", () => "x".repeat(10_000_000)],
  ["a number", () => Number.NaN],
  ["a bigint", () => 1n << 1_000_000n],
  ["a symbol", () => Symbol("s")],
  ["a function", () => () => 1],
  ["a plain object", () => ({ reason: "because", at: new Date(0) })],
  ["an object with a message", () => ({ message: "said", code: 5 })],
  ["a cyclic object", cyclicObject],
  ["an object whose getters throw", () => Object.defineProperty({}, "message", { get: throwing, enumerable: true })],
  ["a Proxy that throws at everything", touchy],
  ["a revoked Proxy", () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; }],
  ["an error whose getters throw", withGetters],
  ["an error with odd members", () => Object.assign(new Error("x"), { name: 5, code: {}, stack: [], cause: null, errors: "x" })],
  ["an error with a Proxy inside", () => Object.assign(new Error("x"), { cause: touchy(), details: touchy(), errors: touchy() })],
  ["an error with a message of 10 MB", () => new Error("m".repeat(10_000_000))],
  ["an error with a stack of 10 MB", hugeStack],
  ["an error with NULs and lone surrogates", () => new Error("a\0b\ud800")],
  ["an error with 10 MB of NULs", () => new Error("\0".repeat(10_000_000))],
  ["an error in a cycle of causes", cyclicCause],
  ["an error with 50 causes", deepCause],
  ["an AggregateError", () => new AggregateError([new Error("a"), "b", null], "both")],
  ["an AggregateError of 10,000", () => new AggregateError(Array.from({ length: 10_000 }, (_, i) => new Error(`${i}`)), "many")],
  ["AggregateErrors of AggregateErrors", () => wide(5, 5)],
  ["a DOMException", () => new DOMException("gone", "AbortError")],
];

describe("storing what was thrown", () => {
  it.each(HOSTILE)("records %s in less than 512 KiB and brings it back as an error", (_, make) => {
    const stored = encodeError(make());
    const text = codec.encode(stored);
    expect(Buffer.byteLength(text)).toBeLessThan(512 * 1024);
    expect(UNSTORABLE_TEXT.test(text)).toBe(false);
    const back = decodeError(codec.decode(text));
    expect(back).toBeInstanceOf(Error);
    expect(back).toMatchObject({ name: stored.name, message: stored.message });
    expect(back.message).not.toBe("");
  });

  it.each(HOSTILE)("records %s the same when it is thrown on", (_, make) => {
    const stored = encodeError(make());
    expect(encodeError(decodeError(stored))).toEqual(stored);
  });

  it("takes any storable value and any text, thrown or as a member of an error", () => {
    fc.assert(
      fc.property(storableValue, anyString, (value, text) => {
        for (const thrown of [value, Object.assign(new Error(text), { details: value, cause: value, code: text })]) {
          const stored = encodeError(thrown);
          expect(encodeError(roundTripError(codec, thrown))).toEqual(stored);
        }
      }),
    );
  });

  it.each([
    ["null", null, "null was thrown"],
    ["undefined", undefined, "undefined was thrown"],
    ["a string", "boom", "boom"],
    ["a number", 42, "42 was thrown"],
    ["a bigint", 42n, "42n was thrown"],
    ["a symbol", Symbol("s"), "Symbol(s) was thrown"],
    ["an object", { a: 1 }, "an object was thrown"],
    ["an array", [1], "an array was thrown"],
    ["an instance", new (class Thing {})(), "an instance of Thing was thrown"],
  ])("describes what was thrown: %s", (_, thrown, message) => {
    expect(encodeError(thrown)).toMatchObject({ name: "ThrownValue", message });
  });

  it("keeps name, code, message, stack, cause, parts and details", () => {
    const cause = Object.assign(new TypeError("inner"), { code: 23505 });
    const error = Object.assign(new AggregateError([new Error("part")], "outer", { cause }), {
      name: "PaymentDeclined",
      code: "DECLINED",
      details: { cents: 5n, at: new Date(0) },
    });
    const back = roundTripError(codec, error);
    expect(back).toBeInstanceOf(RecordedError);
    expect(back).toMatchObject({
      name: "PaymentDeclined",
      code: "DECLINED",
      message: "outer",
      stack: error.stack,
      cause: { name: "TypeError", code: 23505, message: "inner", stack: cause.stack },
      errors: [{ message: "part" }],
      details: { cents: 5n, at: new Date(0) },
    });
    expect(Object.keys(back).sort()).toEqual(["code", "details", "errors"]);
    expect(String(back)).toBe("PaymentDeclined: outer");
  });

  it("keeps a thrown object as details", () => {
    expect(roundTripError(codec, { reason: new Set(["a"]) }).details).toEqual({ reason: new Set(["a"]) });
  });

  it("records why details are missing", () => {
    const error = Object.assign(new Error("x"), { details: { socket: () => 1 } });
    expect(encodeError(error).details).toMatch(/not stored: details.socket: a function/);
    expect(encodeError(cyclicObject()).details).toMatch(/not stored: details.self.*cycle/);
  });

  it("cuts messages at 4 KiB and stacks at 16 KiB of UTF-8, and marks the cut", () => {
    const { message } = encodeError(new Error("€".repeat(100_000)));
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(4096);
    expect(message).toMatch(/€… \(cut from 100000 characters\)$/);
    const { stack } = encodeError(hugeStack());
    expect(Buffer.byteLength(stack ?? "")).toBeLessThanOrEqual(16_384);
    expect(stack).toMatch(/cut from \d+ characters/);
  });

  it("never splits a character when it cuts", () => {
    const { message } = encodeError(new Error("😀".repeat(5000)));
    expect(/\p{Surrogate}/u.test(message)).toBe(false);
  });

  it("keeps the frames of a stack whose message was cut", () => {
    const { stack } = encodeError(new Error("m".repeat(100_000)));
    expect(stack).toContain("stored-error.test.ts");
  });

  it("stores 5 causes and 20 parts and records that there were more", () => {
    let cause = encodeError(deepCause()).cause;
    let causes = 0;
    for (; cause !== undefined && cause.name !== "NotStored"; cause = cause.cause) causes++;
    expect(causes).toBe(5);
    expect(cause?.message).toBe("only 5 causes in a row are stored");
    const { errors } = encodeError(new AggregateError(Array.from({ length: 30 }, () => new Error("part"))));
    expect(errors).toHaveLength(21);
    expect(errors?.[20]).toEqual({ name: "NotStored", message: "only the first 20 errors are stored" });
  });
});

describe("an error among its own causes", () => {
  it("is stored once", () => {
    expect(encodeError(cyclicCause())).toMatchObject({
      message: "round",
      cause: { message: "and round", cause: { name: "NotStored", message: expect.stringContaining("own causes") } },
    });
  });
});

describe("the text of an error", () => {
  it("shrinks to what a codec with a small limit takes", () => {
    const error = new Error("x".repeat(3000), { cause: new Error("y") });
    for (const maxBytes of [100_000, 4000, 1000, 300]) {
      const text = storeError(jsonCodec({ maxBytes }), error);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
      expect(decodeError(codec.decode(text)).message).toMatch(/^xxx/);
    }
    expect(() => storeError(jsonCodec({ maxBytes: 10 }), error)).toThrow(LimitExceeded);
  });

  it.each([
    null,
    "boom",
    {},
    { name: "E" },
    { name: "E", message: 5 },
    { name: "E", message: "m", stack: 5 },
    { name: "E", message: "m", code: {} },
    { name: "E", message: "m", errors: "x" },
    { name: "E", message: "m", errors: [null] },
    { name: "E", message: "m", cause: "x" },
  ])("that is %j is PayloadCorrupt", (stored) => {
    expect(() => decodeError(stored)).toThrow(PayloadCorrupt);
  });
});
