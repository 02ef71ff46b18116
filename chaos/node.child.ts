// One node process of the chaos run. Whatever is done to it, it must go on by itself.

import { appendFileSync } from "node:fs";
import { setTimeout as pass } from "node:timers/promises";
import pg from "pg";
import { createNode } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";
import { type Mark, programsWith } from "./programs.js";
import { SETTINGS, STORE_SETTINGS } from "./settings.js";

const [url, name, logPath] = process.argv.slice(2) as [string, string, string];

// The user's own connections, through the same network.
const pool = new pg.Pool({ connectionString: url, max: 4, query_timeout: 2_000, connectionTimeoutMillis: 2_000 });
pool.on("error", () => {});
const effectInsert = `insert into chaos.effects (run_id, step, key, epoch, attempt, pid, idempotency_key)
  values ($1, $2, $3, $4, $5, $6, $7)`;

async function effect(mark: Mark, idempotencyKey: string, workMs: number): Promise<void> {
  // One short line, O_APPEND: it is whole, and no kill takes it back.
  appendFileSync(logPath, `${JSON.stringify(mark)}\n`);
  const { runId, step, key, epoch, attempt, pid } = mark;
  const client = await pool.connect();
  client.on("error", () => {});
  let broken = true;
  try {
    await client.query(effectInsert, [runId, step, key, epoch, attempt, pid, idempotencyKey]);
    broken = false;
  } finally {
    client.release(broken);
  }
  await pass(workMs);
}

const node = await createNode({
  store: postgres(url, STORE_SETTINGS),
  programs: Object.values(programsWith(effect)),
  identity: name,
  ...SETTINGS,
});
process.on("SIGTERM", async () => {
  await node.stop({ grace: "5s" });
  process.exit(0);
});
process.on("disconnect", () => process.exit(0));
for (const event of ["run.broken"] as const)
  node.on(event, (told) => process.send?.({ event, error: String(told.error) }));
process.send!({ event: "ready" });
