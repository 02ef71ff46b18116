// Two thousand callers wait in `result()` of one client: how many transactions a second that costs the server, and how much of
// a core the process.

import { setTimeout as pass } from "node:timers/promises";
import pg from "pg";
import { createClient, createNode } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";
import type { Say } from "./recovery-kills.js";
import { programsOf } from "./recovery-programs.js";

const WAITERS = 2_000;
const WINDOW_MS = 5_000;
const DATABASE = "holdfast_waiters";

export interface Waiters {
  readonly statementsPerSecond: number[];
  /** Processor seconds per second of the client's process. */
  readonly cores: number;
  /** Callers that got their result when their runs had ended. */
  readonly answered: number;
  readonly waiters: number;
}

export const allAnswered = ({ answered }: Waiters): boolean => answered === WAITERS;

/** In a database of its own, where the server counts what this client does and nothing else. */
export async function statementsOfWaiters(url: string, rounds: number, say: Say): Promise<Waiters> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`drop database if exists ${DATABASE} with (force)`);
  await admin.query(`create database ${DATABASE}`);
  const own = new URL(url);
  own.pathname = `/${DATABASE}`;
  const store = postgres(own.href);
  const transactions = async () => {
    const text = "select xact_commit + xact_rollback as n from pg_stat_database where datname = $1";
    return Number((await admin.query<{ n: string }>(text, [DATABASE])).rows[0]!.n);
  };
  try {
    await store.migrate();
    const programs = programsOf(1, { report: () => {}, released: async () => {} });
    const client = createClient({ store });
    const items = Array.from({ length: WAITERS }, () => ({}) as never);
    const started = await client.startMany(programs.quick, items);
    const results = started.map((one) => (one as { run: { result(): Promise<number> } }).run.result());
    // A session's counts reach the server's statistics late; those of the starts must not count here.
    await pass(WINDOW_MS);
    const statementsPerSecond: number[] = [];
    const cpu = process.cpuUsage();
    for (let i = 0; i < rounds; i++) {
      const before = await transactions();
      await pass(WINDOW_MS);
      statementsPerSecond.push(Math.round(((await transactions()) - before) / (WINDOW_MS / 1000)));
      say(`${WAITERS} callers in result(): ${statementsPerSecond.at(-1)} transactions/s`);
    }
    const { user, system } = process.cpuUsage(cpu);
    const cores = Math.round((user + system) / (rounds * WINDOW_MS * 10)) / 100;
    const node = await createNode({ store, programs: Object.values(programs), concurrency: 100, signals: false });
    const late = pass(60_000, null, { ref: false });
    const answers = await Promise.race([Promise.all(results), late]);
    await node.stop();
    return { statementsPerSecond, cores, answered: answers?.filter((one) => one === 1).length ?? 0, waiters: WAITERS };
  } finally {
    await store.close();
    await admin.query(`drop database if exists ${DATABASE} with (force)`).catch(() => {});
    await admin.end();
  }
}
