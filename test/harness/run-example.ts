// Runs examples as processes of their own, several at a time, compiled once: through a loader each would compile the library anew.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";

const ROOT = join(import.meta.dirname, "..", "..");
/** Most of them wait more than they work. */
const AT_ONCE = 3;

/** What each printed, by its name; a promise each, so that one that fails fails alone. */
export function runExamples(files: readonly string[], serverUrl: string): ReadonlyMap<string, Promise<string>> {
  const compiled = compile();
  const lines: Promise<unknown>[] = Array.from({ length: AT_ONCE }, () => Promise.resolve());
  const printed = files.map((file, i) => {
    const one = lines[i % AT_ONCE]!.then(async () => onDatabase(await compiled, file, serverUrl));
    lines[i % AT_ONCE] = one.catch(() => {}); // its test tells
    return [file, one] as const;
  });
  void Promise.all(lines).then(async () => rm(await compiled, { recursive: true, force: true }));
  return new Map(printed);
}

/** With a database of its own in place of the embedded server. */
async function onDatabase(compiled: string, file: string, serverUrl: string): Promise<string> {
  const name = `example_${file.replace(/\W+/g, "_")}_${process.pid}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await onServer(serverUrl, `create database ${name}`);
  try {
    const command = [join(compiled, "examples", file.replace(/\.ts$/, ".js"))];
    return await inEmptyFolder(command, { HOLDFAST_EXAMPLE_URL: url.href });
  } finally {
    await onServer(serverUrl, `drop database if exists ${name} with (force)`);
  }
}

/** As `npm start` runs it, on an embedded server of its own. */
export function runDemo(...args: string[]): Promise<string> {
  const command = ["--import", import.meta.resolve("tsx"), join(ROOT, "examples", "demo.ts"), ...args];
  return inEmptyFolder(command, { TSX_TSCONFIG_PATH: join(ROOT, "tsconfig.json") });
}

async function inEmptyFolder(command: readonly string[], env: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-example-"));
  try {
    const { stdout } = await promisify(execFile)(process.execPath, command, {
      cwd: folder,
      env: { ...process.env, ...env },
    });
    return stdout.trim();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A package like the one that is published, with `holdfast/embedded` somewhere else. Types are judged by `npm run check`. */
async function compile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-compiled-"));
  const config = join(folder, "tsconfig.json");
  const compilerOptions = {
    noEmit: false,
    noCheck: true,
    rootDir: ROOT,
    outDir: folder,
    typeRoots: [join(ROOT, "node_modules/@types")],
  };
  const include = ["src", "examples", "test/harness/embedded-there.ts"].map((path) => join(ROOT, path));
  await writeFile(config, JSON.stringify({ extends: join(ROOT, "tsconfig.json"), compilerOptions, include }));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  await promisify(execFile)(process.execPath, [tsc, "-p", config]);
  const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { exports: Record<string, Door> };
  const doors = Object.entries(manifest.exports).map(([name, { default: path }]) => [
    name,
    path.replace("dist/", "src/"),
  ]);
  const exports = { ...Object.fromEntries(doors), "./embedded": "./test/harness/embedded-there.js" };
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "holdfast", type: "module", exports }));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

interface Door {
  readonly default: string;
}

async function onServer(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
