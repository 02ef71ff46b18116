// An older PostgreSQL from the distribution's packages, started for one test file. Where there is none, the report has an entry for it.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { accessSync, chownSync, constants, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { describe, test } from "vitest";

const VERSIONS = ["14", "15", "16", "17"];
const NOBODY = 65534;
const START_TIMEOUT_MS = 15_000;

export interface OlderServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** The folder with its programs; null when none is installed and HOLDFAST_REQUIRE does not ask for `older-server`. */
export function olderBinaries(): string | null {
  const folders = VERSIONS.map((version) => `/usr/lib/postgresql/${version}/bin`);
  const found = folders.find((folder) => isProgram(join(folder, "initdb")) && isProgram(join(folder, "postgres")));
  const required = (process.env["HOLDFAST_REQUIRE"] ?? "").split(",").map((name) => name.trim());
  if (found === undefined && required.includes("older-server")) {
    throw new TypeError("no older PostgreSQL is installed, and HOLDFAST_REQUIRE asks for it");
  }
  return found ?? null;
}

/** A suite that needs an older server. Without one the suite is one skipped entry in the report. */
export function describeWithOlderServer(name: string, body: (binaries: string) => void): void {
  const binaries = olderBinaries();
  describe(name, () => {
    if (binaries !== null) body(binaries);
    else test.runIf(false)("needs an older PostgreSQL server: not installed, not run", () => {});
  });
}

export async function olderServer(binaries: string): Promise<OlderServer> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-older-"));
  // PostgreSQL refuses to run as root.
  const account = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (account.uid !== undefined) chownSync(folder, account.uid, account.gid);
  const data = join(folder, "data");
  const init = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await promisify(execFile)(join(binaries, "initdb"), init, { ...account, cwd: folder });

  const port = await freePort();
  const settings = ["listen_addresses=127.0.0.1", `unix_socket_directories=${folder}`, "fsync=off", "max_wal_size=2GB"];
  const args = ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])];
  const child = spawn(join(binaries, "postgres"), args, { ...account, cwd: folder, stdio: "ignore" });
  child.on("error", () => {});
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const stop = () => end(child, folder);
  try {
    await untilAnswers(child, url);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}

async function untilAnswers(child: ChildProcess, url: string): Promise<void> {
  const giveUpAt = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {});
    try {
      await client.connect();
      return;
    } catch (cause) {
      if (child.exitCode !== null || performance.now() > giveUpAt) {
        throw new TypeError("the older server did not start", { cause });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      await client.end().catch(() => {});
    }
  }
}

async function end(child: ChildProcess, folder: string): Promise<void> {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGINT"); // fast shutdown
    await gone;
  }
  await rm(folder, { recursive: true, force: true });
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
