// One node process of the chaos run. Whatever is done to it, it must go on by itself.

import { appendFileSync } from "node:fs";
import { setTimeout as pass } from "node:timers/promises";
import pg from "pg";
import { createNode } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";
import { type LoggedMark, type Mark, programsWith, type Version } from "./programs.js";
import { FOREIGN_SETTINGS, SETTINGS, STORE_SETTINGS } from "./settings.js";

export interface ChildConfig {
  readonly url: string;
  readonly name: string;
  readonly logPath: string;
  readonly version: Version;
  /** In another env, with extreme settings: it idles there. */
  readonly foreign: boolean;
}

/** By the environment: arguments are readable by every user of the machine, and the URL has a password. */
const config = JSON.parse(process.env["HOLDFAST_CHAOS_CHILD"]!) as ChildConfig;
const { url, name, logPath, version, foreign } = config;
/** Its neighbours have begun by then. */
const POISON_MS = 200;

// The user's own connections, through the same network.
const pool = new pg.Pool({ connectionString: url, max: 4, query_timeout: 2_000, connectionTimeoutMillis: 2_000 });
pool.on("error", () => {});
const effectInsert = `insert into chaos.effects (run_id, step, key, epoch, attempt, pid, idempotency_key)
  values ($1, $2, $3, $4, $5, $6, $7)`;

async function effect(mark: Mark, idempotencyKey: string, workMs: number): Promise<void> {
  // One short line, O_APPEND: it is whole, and no kill takes it back.
  const logged: LoggedMark = { ...mark, at: Date.now() };
  appendFileSync(logPath, `${JSON.stringify(logged)}\n`);
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

/** Reported first: a process that ends otherwise is a surprise. */
async function kill(): Promise<void> {
  await pass(POISON_MS);
  await new Promise((resolve) => process.send!({ event: "poisoned" }, resolve));
  process.kill(process.pid, "SIGKILL");
  await pass(60_000);
}

// In another env it has no schedule: nothing pauses it there at the end.
const { ticker, ...others } = programsWith(effect, version, kill);
const node = await createNode({
  store: postgres(url, STORE_SETTINGS),
  programs: foreign ? Object.values(others) : [...Object.values(others), ticker],
  identity: { id: name, build: `v${version}` },
  ...SETTINGS,
  ...(foreign && FOREIGN_SETTINGS),
  signals: false,
});
process.on("SIGTERM", async () => {
  await node.stop({ grace: "5s" });
  process.exit(0);
});
process.on("disconnect", () => process.exit(0));
for (const event of ["run.broken"] as const)
  node.on(event, (told) => process.send?.({ event, error: String(told.error) }));
process.send!({ event: "ready", incarnation: node.incarnation });
