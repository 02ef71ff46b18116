// The lists of slow test files name files that exist, and files share a process only when they stay inside it.

import { describe, expect, test } from "vitest";
import { ALL, isPure, LONG, WAITING } from "./suites.js";

describe("the order of the test files", () => {
  test("names each file once, and only files that exist", () => {
    const named = [...WAITING, ...LONG];
    expect(named.filter((file) => !ALL.includes(file))).toEqual([]);
    expect(new Set(named).size).toBe(named.length);
  });

  test("gives a process of its own to a file that opens a database or starts a process, also through its harness", () => {
    const alone = [
      "test/engine/outage.test.ts",
      "test/workflow/workflow.test.ts",
      "test/store/races/races-keys.test.ts",
    ];
    expect(alone.filter(isPure)).toEqual([]);
    expect(["test/kernel/duration.test.ts", "test/simulator/dags.test.ts"].every(isPure)).toBe(true);
  });
});
