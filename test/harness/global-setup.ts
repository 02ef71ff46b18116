// Starts one PostgreSQL server for the whole test run, or uses the one in HOLDFAST_TEST_DATABASE_URL; compiles what tests start.

import { existsSync } from "node:fs";
import { chmod, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { startEmbedded } from "../../src/embedded/index.js";
import { compileAll } from "./compiled.js";
import { filesOf } from "./test-names.js";

declare module "vitest" {
  interface ProvidedContext {
    databaseUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { folder, remove } = startsProcesses() ? await compileAll() : { folder: "", remove: async () => {} };
  project.provide("compiledFolder", folder);
  const dashboard = await mkdtemp(join(tmpdir(), "holdfast-dashboard-"));
  project.provide("dashboardFolder", dashboard);
  const given = process.env["HOLDFAST_TEST_DATABASE_URL"];
  const { url, stop } = given ? { url: given, stop: async () => {} } : await ownServer();
  project.provide("databaseUrl", url);
  return async () => {
    await stop();
    await remove();
    await rm(dashboard, { recursive: true, force: true });
  };
}

/** False when the command names its files, and none of them starts a process: compiling takes a second. */
function startsProcesses(): boolean {
  const named = process.argv.filter((word) => word.endsWith(".test.ts"));
  return named.length === 0 || named.some((file) => !existsSync(file) || filesOf(file).has("test/harness/compiled.ts"));
}

async function ownServer(): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-test-"));
  // As root the server runs under another account, which must be able to pass through.
  await chmod(folder, 0o711);
  const server = await startEmbedded({
    dataDir: join(folder, "postgres"),
    settings: { max_connections: "400", max_wal_size: "2GB", shared_buffers: "256MB" },
  });
  const stop = async () => {
    const kept = await keptSchemas(server.url);
    await server.stop();
    if (kept.length === 0) await rm(folder, { recursive: true, force: true });
    else await keep(folder, kept);
  };
  return { url: server.url, stop };
}

async function keptSchemas(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const found = await client.query<{ name: string }>(
      "SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE 't\\_%' ORDER BY 1",
    );
    return found.rows.map((row) => row.name);
  } finally {
    await client.end();
  }
}

/** One kept server at a time, so that failing runs do not fill the disk. */
async function keep(folder: string, schemas: string[]): Promise<void> {
  const kept = join(tmpdir(), `holdfast-test-kept-${process.getuid?.() ?? 0}`);
  await rm(kept, { recursive: true, force: true });
  await rename(folder, kept);
  console.error(`kept ${schemas.join(", ")}: startEmbedded({ dataDir: "${join(kept, "postgres")}" })`);
}
