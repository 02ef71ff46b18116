// The list of codecs: which one writes, which one reads, and what happens when a codec is missing or misbehaves.

import { describe, expect, it } from "vitest";
import { type Codec, PayloadCorrupt } from "../../src/kernel/codec/codec.js";
import { codecs, UnknownCodec } from "../../src/kernel/codec/codecs.js";
import { jsonCodec } from "../../src/kernel/codec/json-codec.js";
import { storeError } from "../../src/kernel/codec/stored-error.js";
import { InvalidInput, LimitExceeded } from "../../src/kernel/error.js";
import { roundTrip, roundTripError } from "./round-trip.js";

const inner = jsonCodec();
const reversing: Codec = {
  name: "reversed",
  encode: (value, path) => Buffer.from(inner.encode(value, path)).reverse().toString("base64"),
  decode: (text) => inner.decode(Buffer.from(text, "base64").reverse().toString()),
};
const answering = (text: unknown): Codec => ({ ...reversing, encode: () => text as string });

describe("codecs", () => {
  it("write with the first and read by the stored name", () => {
    const old = codecs().encode({ a: 1n });
    const now = codecs([reversing]);
    const fresh = now.encode({ a: 1n });
    expect(old.codec).toBe("json");
    expect(fresh.codec).toBe("reversed");
    expect([now.decode(old), now.decode(fresh)]).toEqual([{ a: 1n }, { a: 1n }]);
  });

  it("let the default codec be listed with limits of its own", () => {
    expect(() => codecs([jsonCodec({ maxBytes: 5 })]).encode("123456")).toThrow(LimitExceeded);
  });

  it("name the missing codec, the known ones and the next action", () => {
    const error = (() => {
      try {
        return codecs().decode(codecs([reversing]).encode(1));
      } catch (e) {
        return e;
      }
    })();
    expect(error).toBeInstanceOf(UnknownCodec);
    expect(error).toMatchObject({ code: "UNKNOWN_CODEC", codec: "reversed" });
    expect((error as Error).message).toMatch(/"reversed".*has json.*add that codec/);
    expect(() => codecs().find("__proto__")).toThrow(UnknownCodec);
  });

  it("encode and decode values and errors, as payloads", () => {
    const list = codecs([reversing]);
    expect(roundTrip(list, new Map([[1n, undefined]]))).toEqual(new Map([[1n, undefined]]));
    expect(roundTripError(list, new TypeError("no"))).toMatchObject({ name: "TypeError", message: "no" });
    expect(storeError(list, null).codec).toBe("reversed");
  });

  it("pass the path through a codec that wraps another", () => {
    expect(() => codecs([reversing]).encode({ f: () => 1 }, "input")).toThrow("input.f: a function");
  });

  it.each([
    ["a promise", Promise.resolve("x"), /synchronous/],
    ["nothing", undefined, /synchronous/],
    ["a NUL", "a\0b", /NUL/],
    ["a lone surrogate", "a\ud800", /surrogate/],
  ])("refuse a codec's answer that is %s", (_, answer, problem) => {
    const act = () => codecs([answering(answer)]).encode(1, "result");
    expect(act).toThrow(InvalidInput);
    expect(act).toThrow(problem);
  });

  it("turn whatever a decoder throws into PayloadCorrupt", () => {
    const broken: Codec = { ...reversing, decode: () => JSON.parse("{") };
    expect(() => codecs([broken]).decode({ codec: "reversed", data: "x" })).toThrow(PayloadCorrupt);
  });

  it.each([
    ["two of one name", [inner, jsonCodec()]],
    ["an empty name", [{ ...inner, name: "" }]],
    ["a name with spaces", [{ ...inner, name: "a b" }]],
    ["no codec at all", [undefined as unknown as Codec]],
  ])("refuse %s", (_, list) => {
    expect(() => codecs(list)).toThrow(InvalidInput);
  });
});
