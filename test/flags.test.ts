// The command line of our scripts: what they do not know is refused.

import { expect, test } from "vitest";
import { flagsIn } from "../scripts/flags.js";

const KNOWN = { seconds: "number", faults: "text", calm: "switch" } as const;

test("flags, numbers and texts are read", () => {
  const words = ["--seconds", "600", "--calm", "--faults", "kill,pause"];
  expect(flagsIn(KNOWN, words)).toEqual({ seconds: 600, calm: true, faults: "kill,pause", json: false });
});

test("an unknown flag is refused with those there are", () => {
  expect(() => flagsIn(KNOWN, ["--minutes", "10"])).toThrow(
    "--minutes is not an option. There are: --seconds, --faults, --calm, --json.",
  );
  expect(() => flagsIn(KNOWN, ["600"])).toThrow("600 is not an option");
});

test("a number that is none, or a missing value, is refused", () => {
  expect(() => flagsIn(KNOWN, ["--seconds", "ten"])).toThrow("--seconds takes a number, and got ten.");
  expect(() => flagsIn(KNOWN, ["--seconds"])).toThrow("--seconds needs a value.");
  expect(() => flagsIn(KNOWN, ["--faults", "--calm"])).toThrow("--faults needs a value.");
});
