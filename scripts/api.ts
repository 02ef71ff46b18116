// `npm run api`: writes the API reference (docs/api) and the API report (api); `--check` only says whether both are current.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeApi } from "./api/describe.js";
import { emitDeclarations } from "./api/emit.js";
import { flagsOf } from "./flags.js";

const ROOT = join(import.meta.dirname, "..");
const { check: isCheck, json } = flagsOf({ check: "switch" });

await using emitted = await emitDeclarations();
const { files } = describeApi(emitted.folder);
const there = ["api", "docs/api"].flatMap((folder) => {
  mkdirSync(join(ROOT, folder), { recursive: true });
  return readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`);
});
const read = (name: string) => (there.includes(name) ? readFileSync(join(ROOT, name), "utf8") : "");
const changed = [...files].filter(([name, text]) => read(name) !== text).map(([name]) => name);
const gone = there.filter((name) => !files.has(name));
if (!isCheck) {
  for (const name of changed) writeFileSync(join(ROOT, name), files.get(name)!);
  for (const name of gone) rmSync(join(ROOT, name));
}
const differs = [...changed, ...gone];
const ok = !isCheck || differs.length === 0;
if (!ok)
  console.error(`The public surface differs from ${differs.join(", ")}.\nLook at it with: npm run api && git diff api`);
console.log(
  json
    ? JSON.stringify({ ok, files: files.size, changed: differs })
    : `${files.size} files of the API, ${differs.length} ${isCheck ? "differ" : "written"}`,
);
process.exitCode = ok ? 0 : 1;
