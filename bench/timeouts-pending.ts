// What a million pending timeouts cost a sweeper: 100 that are due, looked for, claimed and completed.

import type pg from "pg";
import type { Store } from "../src/store/contract/store.js";
import { timeoutStore } from "../src/timeout/store-timeouts.js";
import { median } from "./measure.js";

export interface PendingTimeouts {
  readonly pool: pg.Pool;
  readonly schema: string;
  readonly store: Store;
  readonly rounds: number;
  readonly many: number;
}

/** Milliseconds of a round: with none pending, and with many. */
export async function pendingTimeouts(
  options: PendingTimeouts,
): Promise<{ readonly few: number; readonly found: number }> {
  const { pool, schema, store, rounds, many } = options;
  const timeouts = timeoutStore(store, { scope: "order" });
  const round = async (n: number): Promise<number> => {
    const ids = Array.from({ length: 100 }, (_, i) => `due-${n}-${i}`);
    await Promise.all(ids.map((id) => timeouts.schedule(id, { state: "pending", sequence: 1, in: 0 })));
    const from = performance.now();
    const { timeouts: due } = await timeouts.queryExpired(100);
    const claims = await Promise.all(due.map((one) => timeouts.claim(one, "bench", { claimMs: 30_000 })));
    await Promise.all(claims.map((one) => one.outcome === "claimed" && timeouts.complete(one.claim)));
    return performance.now() - from;
  };
  const measured = async () => {
    const times: number[] = [];
    for (let n = 0; n < rounds; n++) times.push(await round(n));
    return median(times);
  };
  const clean = () => pool.query(`vacuum analyze ${schema}.timeouts`);
  await clean();
  await measured();
  const few = await measured();
  for (let n = 0; n < many; n += 100_000) {
    await pool.query(
      `insert into ${schema}.timeouts (env, scope, instance, generation, state, sequence, deadline, due_at, created_at, attempts)
       select 'default', 'order', 'later-' || n, gen_random_uuid(), 'pending', 1, at, at, clock_timestamp(), 0
       from generate_series($1::int, $2::int) n, lateral (select clock_timestamp() + n * interval '1 second' + interval '1 hour' as at) x`,
      [n + 1, n + 100_000],
    );
  }
  await clean();
  await measured();
  return { few, found: await measured() };
}
