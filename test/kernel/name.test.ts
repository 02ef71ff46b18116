// F72, F73: which names and keys are accepted unchanged, and which are rejected with the rule.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidInput, LimitExceeded } from "../../src/kernel/error.js";
import * as names from "../../src/kernel/name.js";
import { anyString } from "./storable-value.js";

const { programName, queueName, envName, stackName, codecName, schemaName, dedupeKey, leaseKey } = names;
const SEGMENTED = { programName, queueName };
const SLUGS = { envName, stackName, codecName };
const LIBERAL = {
  stepName: names.stepName,
  signalName: names.signalName,
  waitName: names.waitName,
  nodeName: names.nodeName,
};
const KEYS = { dedupeKey, leaseKey };
const TEXTS = { ...LIBERAL, ...KEYS };

const PROTOTYPE_MEMBERS = ["__proto__", "constructor", "toString", "hasOwnProperty", "prototype"];
const CONTROL = ["\0", "a\0b", "line\nbreak", "tab\t", "\u007f", "\u0085", "\x1b[31m"];
const LONE = ["\ud800", "a\udc00", "\ud800\ud800"];
const ODD = [
  "../etc",
  "a/b",
  "'; drop table runs;--",
  '"quoted"',
  "100%",
  "naïve",
  "日本",
  "שלום",
  "😀",
  "a b",
  " ",
  "*",
  "a::*",
];
const NOT_STRINGS = [undefined, null, 5, {}, [], Symbol("x"), new String("x")];

describe.each(Object.entries(SEGMENTED))("%s", (_, check) => {
  it.each([...PROTOTYPE_MEMBERS, "a", "A", "orders", "ml::train", "a.b-c_d::1", "x".repeat(128), "-", "v1.2", "...a"])(
    "accepts %s unchanged",
    (name) => expect(check(name)).toBe(name),
  );

  it.each([...CONTROL, ...LONE, ...ODD, "a:b", "a:::b", "::a", "a::", "a::::b", "..", ".", "a::..", "..::a", "a\n"])(
    "refuses %j and states the rule",
    (name) => {
      expect(() => check(name, "queue")).toThrow(InvalidInput);
      expect(() => check(name, "queue")).toThrow(/^queue: .*segments of A-Z/);
    },
  );

  it("judges a hostile name in linear time", () => {
    expect(() => check(`${"a::".repeat(42)}!`)).toThrow(InvalidInput);
    expect(() => check(".".repeat(128))).toThrow(InvalidInput);
  });
});

describe.each(Object.entries(SLUGS))("%s", (_, check) => {
  it.each(["a", "0", "prod", "eu-west_1", "x".repeat(63)])("accepts %s", (name) => expect(check(name)).toBe(name));
  it.each([
    ...CONTROL,
    ...LONE,
    ...ODD,
    ...PROTOTYPE_MEMBERS.filter((n) => /[A-Z]|^_/.test(n)),
    "Prod",
    "-a",
    "_a",
    "a.b",
  ])("refuses %j", (name) => expect(() => check(name)).toThrow(InvalidInput));
});

describe.each(Object.entries(TEXTS))("%s", (_, check) => {
  it.each([...PROTOTYPE_MEMBERS, ...ODD, "charge card", "\u2028", "\ufeff"])("accepts %j unchanged", (name) => {
    expect(check(name)).toBe(name);
  });
  it.each([...CONTROL, ...LONE])("refuses %j and states the rule", (name) => {
    expect(() => check(name, "step")).toThrow(/^step: .*control characters/);
  });
});

describe("schemaName", () => {
  it.each(["holdfast", "_x", "a1", "public", "x".repeat(49), "pg", "constructor", "__proto__"])(
    "accepts %s",
    (name) => {
      expect(schemaName(name)).toBe(name);
    },
  );
  it.each([...CONTROL, ...LONE, ...ODD, "Holdfast", "1a", "a-b", "pg_catalog", "pg_", "information_schema", 'a"b'])(
    "refuses %j",
    (name) => expect(() => schemaName(name)).toThrow(InvalidInput),
  );
});

describe("every name", () => {
  const all = { ...SEGMENTED, ...SLUGS, ...TEXTS, schemaName };

  it.each(Object.entries(all))("%s refuses what is empty or no string, naming the field", (_, check) => {
    for (const name of ["", ...NOT_STRINGS]) {
      expect(() => check(name, "options.name")).toThrow(InvalidInput);
      expect(() => check(name, "options.name")).toThrow(/^options.name: .* 1 to \d+ characters/);
    }
  });

  it.each([
    ...Object.entries(SEGMENTED).map(([name, check]) => [name, check, 128] as const),
    ...Object.entries(SLUGS).map(([name, check]) => [name, check, 63] as const),
    ...Object.entries(LIBERAL).map(([name, check]) => [name, check, 200] as const),
    ...Object.entries(KEYS).map(([name, check]) => [name, check, 512] as const),
    ["schemaName", schemaName, 49] as const,
  ])("%s names its length limit", (_, check, max) => {
    expect(check("x".repeat(max))).toHaveLength(max);
    try {
      check("x".repeat(max + 1), "field");
      expect.fail("nothing was thrown");
    } catch (error) {
      expect(error).toBeInstanceOf(LimitExceeded);
      expect(error).toMatchObject({ path: "field", limit: max, actual: max + 1 });
    }
    expect(() => check("x".repeat(10_000_000))).toThrow(LimitExceeded);
  });

  it("comes back unchanged or not at all, and never holds what PostgreSQL cannot keep", () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(all)), anyString, (check, name) => {
        try {
          expect(check(name)).toBe(name);
        } catch (error) {
          if (!(error instanceof InvalidInput)) throw error;
          return;
        }
        expect(/[\p{Cc}\p{Surrogate}]/u.test(name)).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  it("that differs only in case or in normal form is another name", () => {
    expect(queueName("Orders")).not.toBe(queueName("orders"));
    expect(names.stepName("e\u0301")).not.toBe(names.stepName("\u00e9"));
  });
});
