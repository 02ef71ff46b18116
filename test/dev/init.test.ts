// `holdfast init`: an app and a test that work, in the language and with the runner of the folder; a second time it changes nothing.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import { loadPrograms } from "../../src/dev/load-app.js";
import { typed } from "../cli/holdfast.js";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-init-"));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

test("an empty folder gets plain JavaScript and Node's own test runner, and both work", async () => {
  const cwd = folderWith({});
  const { json, code } = await typed(["init", "--json"], { cwd });
  expect([code, json.written]).toEqual([0, ["app.mjs", "app.test.mjs", "package.json (script dev, script test)"]]);
  mkdirSync(join(cwd, "node_modules"));
  symlinkSync(inject("compiledFolder"), join(cwd, "node_modules/holdfast"));
  const printed = execFileSync(process.execPath, ["--test", "app.test.mjs"], { cwd, encoding: "utf8" });
  expect(printed).toMatch(/pass 1/);
  expect((await loadPrograms(join(cwd, "app.mjs"))).map(({ name }) => name)).toEqual(["order"]);
});

test("a second time nothing is changed", async () => {
  const cwd = folderWith({ "package.json": JSON.stringify({ scripts: { test: "mine" } }) });
  await typed(["init"], { cwd });
  const before = readdirSync(cwd).map((name) => readFileSync(join(cwd, name), "utf8"));
  const { json } = await typed(["init", "--json"], { cwd });
  expect([json.written, json.kept]).toEqual([[], ["app.mjs", "app.test.mjs"]]);
  expect(readdirSync(cwd).map((name) => readFileSync(join(cwd, name), "utf8"))).toEqual(before);
  expect(before.join("\n")).toContain('"test": "mine"');
});

test("TypeScript and vitest are used where the folder has them", async () => {
  const cwd = folderWith({
    "tsconfig.json": "{}",
    "package.json": '{ "devDependencies": { "vitest": "4", "tsx": "4" } }',
  });
  const { json } = await typed(["init", "--json"], { cwd });
  expect(json.written.slice(0, 2)).toEqual(["app.ts", "app.test.ts"]);
  expect(readFileSync(join(cwd, "app.test.ts"), "utf8")).toMatch(/from "vitest"[\s\S]*from "\.\/app\.js"/);
  expect(readFileSync(join(cwd, "app.ts"), "utf8")).toContain("input: { id: string }");
});

test("a file without programs, or none, is refused with what to do", async () => {
  const cwd = folderWith({ "app.mjs": "export const x = 1;" });
  await expect(loadPrograms(join(cwd, "app.mjs"))).rejects.toThrow("exports no program");
  await expect(loadPrograms(join(cwd, "none.ts"))).rejects.toThrow("npx holdfast init");
});
