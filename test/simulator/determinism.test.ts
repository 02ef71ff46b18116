// The same seed is the same history: in this process, again, and in another one.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { simulate } from "../../src/simulator/simulate.js";
import { compiled } from "../harness/compiled.js";

const ROOT = join(import.meta.dirname, "../..");
const SEEDS = 20;

// Stack traces of expected errors would take half of the time.
Error.stackTraceLimit = 0;

test("a seed has one history, in every process", { timeout: 120_000 }, async () => {
  const args = [compiled(join(ROOT, "scripts/simulate.ts")), "--seeds", String(SEEDS), "--json", "--hashes"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  const { hashes } = JSON.parse(stdout) as { hashes: Record<string, string> };
  const mine: Record<string, string> = {};
  for (let seed = 1; seed <= SEEDS; seed++) mine[seed] = (await simulate(seed)).hash;
  expect(mine).toEqual(hashes);
  expect(new Set(Object.values(mine)).size).toBe(SEEDS);
});

test("a trace has the lines that its hash is computed from", async () => {
  const [one, two] = [await simulate(7, { keepTrace: true }), await simulate(7, { keepTrace: true })];
  expect(one.trace.length).toBeGreaterThan(100);
  expect(two.trace).toEqual(one.trace);
  expect((await simulate(7)).hash).toBe(one.hash);
});
