// Folders, queries and waiting for the tests of the embedded server.

import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, onTestFinished } from "vitest";
import { startEmbedded, stopEmbedded } from "../../src/embedded/index.js";
import { lifeOf, worksIn } from "../../src/embedded/process-life.js";

export const isRoot = process.getuid?.() === 0;

/** A folder for one test; other accounts can pass through it. Removed at the end of the file. */
export async function scratchFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-embedded-"));
  await chmod(folder, 0o711);
  folders.push(folder);
  return folder;
}

/** A data folder that does not exist yet, whose server is stopped after the test. */
export async function scratchDataDir(): Promise<string> {
  const dataDir = join(await scratchFolder(), "postgres");
  onTestFinished(async () => {
    if (existsSync(dataDir)) await stopEmbedded({ dataDir });
  });
  return dataDir;
}

/**
 * One that is initialised and that the tests of a file use one after the other, each with its own server: a new one
 * takes initdb a second, and a thousand files to make and remove.
 */
export async function initialisedDataDir(): Promise<string> {
  initialised ??= initialise();
  const dataDir = await initialised;
  onTestFinished(async () => {
    await stopEmbedded({ dataDir });
  });
  return dataDir;
}

let initialised: Promise<string> | undefined;

async function initialise(): Promise<string> {
  const dataDir = join(await scratchFolder(), "postgres");
  const server = await startEmbedded({ dataDir });
  await server.stop();
  return dataDir;
}

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Waits for a condition, not for a duration. */
export async function until(what: string, fact: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 15_000;
  while (!fact()) {
    if (performance.now() > giveUpAt) throw new TypeError(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function isAlive(pid: number): boolean {
  return lifeOf(pid) !== null;
}

/** Every process whose working directory is the data folder: the server and all its backends. */
export function serverProcesses(dataDir: string): number[] {
  const data = join(dataDir, "cluster", "data");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => worksIn(pid, data) === true);
}
