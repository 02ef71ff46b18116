// The lists of slow test files name files that exist, and files share a process only when they stay inside it.

import { describe, expect, test } from "vitest";
import { ALL, canShare, isPure, LONG, WAITING } from "./suites.js";

describe("the order of the test files", () => {
  test("names each file once, and only files that exist", () => {
    const named = [...WAITING, ...LONG];
    expect(named.filter((file) => !ALL.includes(file))).toEqual([]);
    expect(new Set(named).size).toBe(named.length);
  });

  test("gives a process of its own to a file that starts a process or changes its variables, also through its harness", () => {
    const alone = ["test/engine/outage.test.ts", "test/client/signals.test.ts", "test/client/identity.test.ts"];
    expect(alone.filter(canShare)).toEqual([]);
  });

  test("lets files that open a database share a process apart from those that do not", () => {
    const database = ["test/workflow/workflow.test.ts", "test/workflow/takeover.test.ts"];
    expect(database.filter(canShare)).toEqual(database);
    expect(database.filter(isPure)).toEqual([]);
    expect(["test/kernel/duration.test.ts", "test/simulator/dags.test.ts"].every(isPure)).toBe(true);
  });
});
