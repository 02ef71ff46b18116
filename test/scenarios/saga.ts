// A saga of three parts, and a node that stops for good at the points of its clean-up: around each effect, and before the end.

import pg from "pg";
import { createNode } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";

/** `hotel before`: the compensation of the hotel has begun and done nothing yet; `hotel after`: it is not recorded yet. */
export type Point = `${"flight" | "car" | "hotel"} ${"before" | "after"}` | "the end" | null;

const go = signal("go");

const sagaWith = (at: (runId: string, what: string, point: Point, key: string) => Promise<void>) =>
  workflow("saga", async (ctx, point: Point) => {
    for (const part of ["hotel", "car", "flight"]) {
      ctx.onCancel(`undo ${part}`, ({ idempotencyKey }) => at(ctx.runId, part, point, idempotencyKey));
      await ctx.step(part, () => part);
    }
    await ctx.waitFor(go);
  });

/** For a process that only starts it. */
export const saga = sagaWith(async () => {});

/** The table of what was undone: a row for each idempotency key. */
export const UNDONE = (schema: string) => `create table ${schema}.undone (key text primary key, run_id uuid not null,
  what text not null, times int not null default 1, at timestamptz not null default clock_timestamp())`;

/** `stopped`: called with the run that has come to its point; null: no run stops, all work to their end. */
export async function openSagaNode(url: string, schema: string, stopped: ((runId: string) => void) | null) {
  const pool = new pg.Pool({ connectionString: url, max: 2 }).on("error", () => {});
  const store = openPostgres(url, { schema });
  const stop = (runId: string) => {
    stopped!(runId);
    return new Promise<never>(() => {});
  };
  const atTheEnd = new Set<string>();
  const program = sagaWith(async (runId, what, point, key) => {
    if (stopped && point === `${what} before`) await stop(runId);
    await pool.query(
      `insert into ${schema}.undone (key, run_id, what) values ($1, $2, $3)
       on conflict (key) do update set times = undone.times + 1`,
      [key, runId, what],
    );
    if (stopped && point === `${what} after`) await stop(runId);
    if (stopped && point === "the end") atTheEnd.add(runId);
  });
  const commit: typeof store.runs.commit = async (commits) => {
    const held = commits.find(
      ({ claim, effects }) => atTheEnd.has(claim.runId) && effects.some(({ kind }) => kind === "fail"),
    );
    return held ? stop(held.claim.runId) : store.runs.commit(commits);
  };
  const timing = { housekeeping: 100, pollInterval: 50, pollMax: 200, presenceGrace: 300 };
  const node = await createNode({
    store: { ...store, runs: { ...store.runs, commit } },
    programs: [program],
    timing,
    signals: false,
    logger: false,
  });
  return {
    async close() {
      await node.stop({ grace: 0 });
      await store.close();
      await pool.end();
    },
  };
}
