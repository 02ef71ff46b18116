// Runs examples as their readers would, as processes of their own, several at a time.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";

const ROOT = join(import.meta.dirname, "..", "..");
/** Most of them wait more than they work. */
const AT_ONCE = 3;

/** What each printed, by its name; a promise each, so that one that fails fails alone. */
export function runExamples(files: readonly string[], serverUrl: string): ReadonlyMap<string, Promise<string>> {
  const lines: Promise<unknown>[] = Array.from({ length: AT_ONCE }, () => Promise.resolve());
  return new Map(
    files.map((file, i) => {
      const printed = lines[i % AT_ONCE]!.then(() => onDatabase(file, serverUrl));
      lines[i % AT_ONCE] = printed.catch(() => {}); // its test tells
      return [file, printed];
    }),
  );
}

/** With a database of its own in place of the embedded server. */
async function onDatabase(file: string, serverUrl: string): Promise<string> {
  const name = `example_${file.replace(/\W+/g, "_")}_${process.pid}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await onServer(serverUrl, `create database ${name}`);
  try {
    return await runExample(file, [], {
      HOLDFAST_EXAMPLE_URL: url.href,
      TSX_TSCONFIG_PATH: await withoutEmbedded(),
    });
  } finally {
    await onServer(serverUrl, `drop database if exists ${name} with (force)`);
  }
}

/** In an empty folder, which is removed. */
export async function runExample(file: string, args: readonly string[], env: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-example-"));
  try {
    const command = ["--import", import.meta.resolve("tsx"), join(ROOT, "examples", file), ...args];
    const options = { cwd: folder, env: { ...process.env, TSX_TSCONFIG_PATH: join(ROOT, "tsconfig.json"), ...env } };
    const { stdout } = await promisify(execFile)(process.execPath, command, options);
    return stdout.trim();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

let config: Promise<string> | undefined;

/** The compiler's settings of the project, with `holdfast/embedded` somewhere else. */
function withoutEmbedded(): Promise<string> {
  config ??= (async () => {
    const { compilerOptions } = JSON.parse(await readFile(join(ROOT, "tsconfig.json"), "utf8")) as {
      compilerOptions: { paths: Record<string, string[]> };
    };
    const paths = Object.entries(compilerOptions.paths).map(([name, [path]]) => [name, [join(ROOT, path!)]]);
    const there = join(ROOT, "test", "harness", "embedded-there.ts");
    const file = join(await mkdtemp(join(tmpdir(), "holdfast-config-")), "tsconfig.json");
    const made = { ...compilerOptions, paths: { ...Object.fromEntries(paths), "holdfast/embedded": [there] } };
    await writeFile(file, JSON.stringify({ compilerOptions: made }));
    return file;
  })();
  return config;
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
