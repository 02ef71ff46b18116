// `holdfast definitions` as people and scripts use it.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scene } from "../store/scene.js";
import { typed } from "./holdfast.js";

const { url, schema } = scene();
const run = (...words: string[]) => typed([...words, "--schema", schema], { env: { HOLDFAST_DATABASE_URL: url } });
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-definitions-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a definition is saved from a file, shown, disabled and removed; mistakes in one are reported", async () => {
  expect((await run("definitions")).stdout).toContain("No definitions in env default");
  const file = join(folder, "watcher.json");
  const body = { expectations: { watch: { strategy: "report", on: [{ every: "5m" }] } } };
  await writeFile(file, JSON.stringify(body));
  expect((await run("definitions", "save", "watcher", file)).stdout).toBe("watcher was saved as version 1.\n");
  const { stdout } = await run("definitions", "--json");
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    definitions: [{ name: "watcher", version: 1, enabled: true, body }],
  });
  expect((await run("definitions", "disable", "watcher")).stdout).toContain("is disabled");
  expect((await run("definitions")).stdout).toMatch(/watcher +actor +1 +off/);
  await writeFile(file, JSON.stringify({ expectations: { watch: { on: [] } } }));
  const wrong = await run("definitions", "save", "watcher", file);
  expect([wrong.code, wrong.stderr]).toEqual([
    expect.any(Number),
    expect.stringContaining("body.expectations.watch.strategy"),
  ]);
  expect(wrong.code).not.toBe(0);
  expect((await run("definitions", "show", "watcher")).stdout).toContain('"strategy": "report"');
  const flow = { tasks: { list: { task: "list" }, count: { task: "count", needs: ["list"] } } };
  await writeFile(file, JSON.stringify(flow));
  expect((await run("definitions", "save", "flow", file, "--over", "0")).stdout).toBe("flow was saved as version 1.\n");
  expect((await run("definitions", "save", "flow", file, "--over", "7")).code).toBe(0);
  await writeFile(file, JSON.stringify({ tasks: { list: { task: "list", needs: ["list"] } } }));
  expect((await run("definitions", "save", "flow", file)).stderr).toContain("form a cycle: list → list");
  expect((await run("definitions")).stdout).toMatch(/flow +dag +1 +on/);
  expect((await run("definitions", "remove", "flow")).stdout).toContain("is removed");
  expect((await run("definitions", "remove", "watcher")).stdout).toContain("is removed");
  expect((await run("definitions", "remove", "watcher")).code).not.toBe(0);
});
