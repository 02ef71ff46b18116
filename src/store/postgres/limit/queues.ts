// Queues: paused and resumed by a row that every claim reads; listed with the runs that wait in them.

import { MOST_IN_QUEUE, type QueueRecord, type QueueStore } from "../../contract/limit/queues.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { depths } from "./queue-depths.js";

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
), ${depths(s, { env: "$1", most: String(MOST_IN_QUEUE) })}, named as (
  select queue from depths union select queue from ${s}.paused_queues where env = $1
)
select q.queue, coalesce(json_object_agg(d.state, d.n) filter (where d.state is not null), '{}') as counts,
  floor(extract(epoch from (select now from t) - min(d.oldest)) * 1000)::float8 as "oldestWaitingMs",
  case when p.at is not null then json_build_object('at', ${ms("p.at")}, 'by', p.by) end as paused
from named q left join ${s}.paused_queues p on p.env = $1 and p.queue = q.queue left join depths d on d.queue = q.queue
group by q.queue, p.at, p.by order by q.queue collate "C"`,
);

export function queueStore(db: Database): QueueStore {
  return {
    async pause(env, queue, by) {
      await db.run(pauseQueue, [env, queue, by]);
    },
    async resume(env, queue) {
      const groups = await db.run<{ id: number }>(resumeQueue, [env, queue]);
      db.onWork(groups.map(({ id }) => id));
    },
    list: (env) => db.run<QueueRecord>(listQueues, [env]),
  };
}
