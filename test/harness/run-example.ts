// Runs examples as processes of their own, several at a time.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { compiled } from "./compiled.js";

const ROOT = join(import.meta.dirname, "..", "..");
/** Most of them wait more than they work. */
const AT_ONCE = 3;

/** What each printed, by its name; one promise each, so that a failure affects one example. */
export function runExamples(files: readonly string[], serverUrl: string): ReadonlyMap<string, Promise<string>> {
  const lines: Promise<unknown>[] = Array.from({ length: AT_ONCE }, () => Promise.resolve());
  const printed = files.map((file, i) => {
    const one = lines[i % AT_ONCE]!.then(() => onDatabase(file, serverUrl));
    lines[i % AT_ONCE] = one.catch(() => {}); // its test reports it
    return [file, one] as const;
  });
  return new Map(printed);
}

/** With a database of its own in place of the embedded server. */
async function onDatabase(file: string, serverUrl: string): Promise<string> {
  const name = `example_${file.replace(/\W+/g, "_")}_${process.pid}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await onServer(serverUrl, `create database ${name}`);
  try {
    const command = [compiled(join(ROOT, "examples", file))];
    return await inEmptyFolder(command, { HOLDFAST_EXAMPLE_URL: url.href });
  } finally {
    await onServer(serverUrl, `drop database if exists ${name} with (force)`);
  }
}

/** As `npm start` runs it, on an embedded server of its own; `argumentsSeen` are those of all its processes. */
export function runSample(...args: string[]): { printed: Promise<string>; argumentsSeen: ReadonlySet<string> } {
  const main = join(ROOT, "src/cli/main.ts");
  const command = ["--import", import.meta.resolve("tsx"), main, "dev", "--sample", ...args];
  const mark = `HOLDFAST_TEST_MARK=${randomUUID()}`;
  const argumentsSeen = new Set<string>();
  const looking = setInterval(() => {
    for (const line of argumentsOf(mark)) argumentsSeen.add(line);
  }, 500);
  const [name, value] = mark.split("=") as [string, string];
  const printed = inEmptyFolder(command, { TSX_TSCONFIG_PATH: join(ROOT, "tsconfig.json"), [name]: value });
  return { printed: printed.finally(() => clearInterval(looking)), argumentsSeen };
}

/** What every user of the machine can read of the processes that inherited a variable. */
function argumentsOf(mark: string): string[] {
  const read = (pid: string, file: string) => {
    try {
      return readFileSync(join("/proc", pid, file), "latin1");
    } catch {
      return ""; // it has ended, or belongs to another user
    }
  };
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && read(pid, "environ").split("\0").includes(mark))
    .map((pid) => read(pid, "cmdline").replaceAll("\0", " "));
}

async function inEmptyFolder(command: readonly string[], env: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-example-"));
  // As root an embedded server runs under another account: without access its data would be stored, and left, elsewhere.
  await chmod(folder, 0o711);
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

async function onServer(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
