// A store as it is after months: ended runs with their last entries, some of them failed, and work that waits for nodes and people.

import type pg from "pg";
import { createClient } from "../src/client/create-client.js";
import { createNode, workflow } from "../src/index.js";
import type { PostgresStore } from "../src/store/postgres/index.js";

export const QUESTIONS = 300;
export const WAITING = 20_000;
const PAUSED = 200;

/** Of ten runs six are of `order`, the others of `mail`; the first hundred are of `rare`. One in a hundred has failed, one in ten has asked. */
export async function fillEnded(pool: pg.Pool, s: string, runs: number): Promise<void> {
  await pool.query(`insert into ${s}.claim_groups (id, env, stack, queue, program, version)
    select 1000 + n, 'default', '', p, p, '' from unnest(array['order', 'mail', 'rare']) with ordinality x(p, n)`);
  const id = (n: string) => `('018f' || lpad(to_hex(${n}), 8, '0') || '70008000000000000000')::uuid`;
  const state = `case when n % 100 = 8 then 'failed' when n % 1000 = 10 then 'cancelled' when n % 100000 = 12 then 'dead' else 'completed' end`;
  await pool.query(`insert into ${s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at, ended_at, seq)
    select ${id("n")}, 1000 + case when n <= 100 then 3 when n % 10 < 6 then 1 else 2 end, 0, ${state},
      now(), 5, now(), now() - (${runs} - n) * interval '1 second', 2
    from generate_series(1, ${runs}) n`);
  await pool.query(`insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
    select r.id, 2, 1, r.state, '', 'json',
      case when r.state in ('failed', 'dead') then '{"name":"Error","code":"CARD_DECLINED","message":"no"}' else '{"ok":true}' end, r.ended_at
    from ${s}.runs r`);
  await pool.query(`insert into ${s}.journal (run_id, seq, epoch, kind, name, key, codec, data, at)
    select ${id("n")}, 1, 1, 'approval.begun', 'ship', '1', 'json', '{"ask":"Ship it?"}', now() from generate_series(10, ${runs}, 10) n`);
}

const asks = workflow("asks", (ctx, input: { id: number }) =>
  ctx.approval("ship", { ask: `Ship ${input.id}?`, to: input.id % 10 === 0 ? "warehouse" : "sales" }),
);

export async function fillLive(store: PostgresStore): Promise<void> {
  const client = createClient({ store, env: "default" });
  const items = Array.from({ length: WAITING }, (_, i) => ({ input: { i } as never }));
  const waiting = await client.startMany("mail" as never, items, { queue: "mail" } as never);
  for (const one of waiting.slice(0, PAUSED)) {
    if (one.outcome === "started") await store.runs.pause(one.run.id, { by: "bench" });
  }
  const node = await createNode({ store, env: "default", programs: [asks], identity: { id: "bench" } });
  try {
    await node.startMany(
      asks,
      Array.from({ length: QUESTIONS }, (_, id) => ({ input: { id } })),
    );
    while ((await store.views.questions({ env: "default", limit: QUESTIONS })).rows.length < QUESTIONS)
      await new Promise((next) => setTimeout(next, 200));
  } finally {
    await node.stop();
  }
}
