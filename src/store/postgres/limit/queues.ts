// Queues: paused and resumed by a row that every claim reads; listed with the runs that wait in them.

import type { RunState } from "../../../kernel/run/run-state.js";
import type { QueueRecord, QueueStore } from "../../contract/limit/queues.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";

const pauseQueue = statement(
  "pause_queue",
  "Pauses a queue.",
  ({ schema: s, now }) =>
    `insert into ${s}.paused_queues (env, queue, at, by) values ($1, $2, ${now}, $3) on conflict do nothing`,
);

const resumeQueue = statement(
  "resume_queue",
  "Resumes a queue and returns its groups.",
  ({ schema: s }) => `
with resumed as (delete from ${s}.paused_queues where env = $1 and queue = $2)
select id from ${s}.claim_groups where env = $1 and queue = $2`,
);

const listQueues = statement(
  "list_queues",
  "Lists queues with the number of runs in each state.",
  ({ schema: s, now }) => `
with t as materialized (select ${now} as now
), live as (
  select g.queue, r.state, count(*)::int as n,
    floor(extract(epoch from t.now - min(r.available_at) filter (where r.state = 'waiting' and r.available_at <= t.now)) * 1000)::float8
      as oldest
  from ${s}.claim_groups g join ${s}.runs r on r.claim_group = g.id, t
  where g.env = $1 and r.ended_at is null
  group by 1, 2, t.now
), named as (
  select queue from live union select queue from ${s}.paused_queues where env = $1
)
select q.queue, ${ms("p.at")} as paused_at, p.by as paused_by, l.state, l.n, l.oldest
from named q left join ${s}.paused_queues p on p.env = $1 and p.queue = q.queue left join live l on l.queue = q.queue
order by q.queue collate "C", l.state`,
);

interface Row {
  queue: string;
  paused_at: number | null;
  paused_by: string;
  state: RunState | null;
  n: number;
  oldest: number | null;
}

export function queueStore(db: Database): QueueStore {
  return {
    async pause(env, queue, by) {
      await db.run(pauseQueue, [env, queue, by]);
    },
    async resume(env, queue) {
      const groups = await db.run<{ id: number }>(resumeQueue, [env, queue]);
      db.onWork(groups.map(({ id }) => id));
    },
    async list(env) {
      return recordsOf(await db.run<Row>(listQueues, [env]));
    },
  };
}

function recordsOf(rows: readonly Row[]): QueueRecord[] {
  const queues = [...new Set(rows.map(({ queue }) => queue))];
  return queues.map((queue) => {
    const mine = rows.filter((row) => row.queue === queue);
    const { paused_at, paused_by } = mine[0]!;
    return {
      queue,
      counts: Object.fromEntries(mine.flatMap(({ state, n }) => (state === null ? [] : [[state, n]]))),
      oldestWaitingMs: mine.find(({ oldest }) => oldest !== null)?.oldest ?? null,
      paused: paused_at === null ? null : { at: paused_at, by: paused_by },
    };
  });
}
