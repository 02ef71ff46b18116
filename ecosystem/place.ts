// What every case needs: the packages installed on first use, Holdfast as it is packed, a server, and processes that are watched.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import pg from "pg";

export const HERE = import.meta.dirname;
export const ROOT = join(HERE, "..");
export const PACKAGES = join(HERE, "node_modules");

const execute = promisify(execFile);

export interface Place {
  /** The packed file. */
  readonly tarball: string;
  /** The URL of a new database. */
  newDatabase(): Promise<string>;
  /** A folder that is removed at the end. */
  newFolder(): Promise<string>;
}

/** Runs a command to its end; what it printed. */
export async function run(command: string, args: readonly string[], options: Surroundings = {}): Promise<string> {
  const { cwd = HERE, env = {} } = options;
  const most = { maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await execute(command, [...args], { cwd, env: { ...process.env, ...env }, ...most });
  return stdout;
}

export interface Surroundings {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A process whose lines are read while it runs. */
export class Watched {
  readonly lines: string[] = [];
  readonly errors: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(command: string, args: readonly string[], { cwd = HERE, env = {} }: Surroundings = {}) {
    this.#child = spawn(command, args, { cwd, env: { ...process.env, ...env } });
    this.#ended = once(this.#child, "exit");
    createInterface({ input: this.#child.stdout! }).on("line", (line) => this.lines.push(line));
    createInterface({ input: this.#child.stderr! }).on("line", (line) => this.errors.push(line));
  }

  /** Waits for a line that begins like this. */
  async line(start: string, timeoutMs = 60_000): Promise<string> {
    const found = await until(
      () => this.lines.find((line) => line.startsWith(start)) ?? (this.#code === null ? null : ""),
      timeoutMs,
    ).catch(() => "");
    if (found) return found;
    throw new TypeError(
      `no line ${JSON.stringify(start)}: ${[...this.lines, ...this.errors].join("\n").slice(-3_000)}`,
    );
  }

  get #code(): number | string | null {
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  /** Sends a signal and waits for the end; the exit code, or the signal that ended it. */
  async end(signal: NodeJS.Signals): Promise<number | string> {
    if (this.#code === null) this.#child.kill(signal);
    return this.exit();
  }

  async exit(): Promise<number | string> {
    if (this.#code === null) await this.#ended;
    return this.#code!;
  }
}

export async function until<T>(look: () => T | null | Promise<T | null>, timeoutMs = 60_000): Promise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > giveUpAt) throw new TypeError(`nothing after ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

/** Installs what is locked, unless it is there. `npm ci` refuses a lock file without the packages of other platforms. */
export async function install(): Promise<void> {
  const installed = join(PACKAGES, ".package-lock.json");
  const changedAt = async (file: string) => (await stat(file)).mtimeMs;
  const isFresh =
    existsSync(installed) && (await changedAt(installed)) >= (await changedAt(join(HERE, "package.json")));
  if (!isFresh) await run("npm", ["install", "--no-save"]);
}

/** Builds and packs Holdfast and unpacks it where the cases import it from. */
export async function pack(into: string): Promise<string> {
  await run("npm", ["pack", "--pack-destination", into, "--silent"], { cwd: ROOT });
  const { version } = JSON.parse(
    await run("npm", ["pkg", "get", "version", "--json"], { cwd: ROOT }).then((v) => `{"version":${v}}`),
  );
  const tarball = join(into, `holdfast-${version}.tgz`);
  const unpacked = join(PACKAGES, "holdfast");
  await rm(unpacked, { recursive: true, force: true });
  await mkdir(unpacked, { recursive: true });
  await run("tar", ["xzf", tarball, "-C", unpacked, "--strip-components=1"]);
  return tarball;
}

export async function openPlace(serverUrl: string): Promise<Place & AsyncDisposable> {
  const base = await mkdtemp(join(tmpdir(), "holdfast-ecosystem-"));
  const tarball = await pack(base);
  let folders = 0;
  let databases = 0;
  return {
    tarball,
    newDatabase: async () => {
      databases++;
      const name = `ecosystem_${process.pid}_${databases}`;
      const client = new pg.Client({ connectionString: serverUrl });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      const url = new URL(serverUrl);
      url.pathname = `/${name}`;
      return url.href;
    },
    newFolder: async () => {
      folders++;
      const folder = join(base, `folder-${folders}`);
      await mkdir(folder);
      return folder;
    },
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
}
