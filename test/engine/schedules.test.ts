// Schedules across processes: five of them race for every window, and are killed while they do.
//
// HOLDFAST_WINDOWS=60 watches sixty windows instead of twelve.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgres } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";

const WINDOWS = Number(process.env["HOLDFAST_WINDOWS"] ?? 12);
const NODES = 5;
const { url, schema, pool } = testSchema();
const store = openPostgres(url, { schema });
const children: ChildProcess[] = [];
let started = 0;

beforeAll(async () => {
  await store.migrate();
});
afterAll(async () => {
  const living = children.filter((child) => child.exitCode === null && child.signalCode === null);
  await Promise.all(living.map((child) => [child.send("stop"), once(child, "exit")][1]));
  await store.close();
});

async function startNode(): Promise<ChildProcess> {
  const file = compiled(join(import.meta.dirname, "schedules.child.ts"));
  const child = fork(file, [url, schema, `node-${started++}`], { execArgv: [] });
  children.push(child);
  await once(child, "message");
  return child;
}

/** Whole windows since the anchor, by the database's clock. */
async function windowsSoFar(): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select floor(extract(epoch from clock_timestamp() - anchor))::int as n from ${schema}.schedules`,
  );
  return rows[0]?.n ?? 0;
}

test(
  "five processes, one of them killed again and again: every window has exactly one run, and it completes",
  async () => {
    const alive = await Promise.all(Array.from({ length: NODES }, startNode));
    while ((await windowsSoFar()) < WINDOWS - 3) {
      await pass(700);
      const victim = alive.shift()!;
      victim.kill("SIGKILL");
      alive.push(await startNode());
    }
    const { rows: anchors } = await pool.query(
      `select floor(extract(epoch from anchor) * 1000)::float8 as at from ${schema}.schedules`,
    );
    const expected = Array.from({ length: WINDOWS }, (_, i) => new Date(anchors[0].at + (i + 1) * 1000).toISOString());
    const read = async () => {
      const { rows } = await pool.query<{ window: string; state: string; late: number }>(
        `select j.data::jsonb ->> 'window' as window, r.state,
         extract(epoch from r.created_at - (j.data::jsonb ->> 'window')::timestamptz)::float8 * 1000 as late
       from ${schema}.runs r join ${schema}.journal j on j.run_id = r.id and j.seq = 1 order by 1`,
      );
      return rows.filter(({ window }) => window <= expected.at(-1)!);
    };
    const done = async () => (await read()).filter(({ state }) => state === "completed").length;
    await expect.poll(done, { timeout: 30_000 }).toBeGreaterThanOrEqual(WINDOWS);
    const runs = await read();
    expect(runs.map(({ window }) => window)).toEqual(expected);
    const late = runs.map((run) => run.late).sort((a, b) => a - b);
    console.log(
      `${WINDOWS} windows, ${started - NODES} kills; late by ${Math.round(late[late.length >> 1]!)} ms (median)`,
    );
    // The scheduler sleeps until a window: a node that polls now and then is late by seconds.
    expect(late[late.length >> 1]).toBeLessThan(800);
  },
  60_000 + WINDOWS * 1000,
);
