// Schedules: declared by nodes, read when they are due, listed, paused and resumed.

import type {
  DueSchedules,
  ScheduleDeclaration,
  ScheduleRecord,
  ScheduleStore,
} from "../../contract/schedule/schedules.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval, ms } from "../connection/instant.js";
import { type Columns, IDS, rowset, text, uuid } from "../connection/rowset.js";
import type { WakeSender } from "../connection/wake-sender.js";
import { type Groups, groupJson } from "../run/groups.js";
import { fire } from "./fire-schedules.js";

type Declared = ScheduleDeclaration["schedules"][number];

const NAME = {
  program: text(({ group }) => group.program),
  key: text(({ key }) => key),
} satisfies Columns<Declared>;
const NAMES = rowset<Declared>()(NAME);
const DECLARED = rowset<Declared>()({
  ...NAME,
  id: uuid(({ id }) => id),
  queue: text(({ group }) => group.queue),
  version: text(({ group }) => group.version ?? ""),
  spec: text(({ spec }) => spec),
});

/** Sorted: nodes that start together wait for each other's rows in one order. */
const declareSchedules = statement(
  "declare_schedules",
  "Declares the schedules of a node's programs.",
  ({ schema: s, now }) => `
with t as materialized (select ${now} as now, date_trunc('milliseconds', ${now}) as whole)
insert into ${s}.schedules as s (id, env, stack, program, key, queue, version, spec, anchor, last_at, next_at, seen_at)
select d.id, $1, $2, d.program, d.key, d.queue, d.version, d.spec, t.whole, t.whole, t.whole, t.now
from ${DECLARED.from(3).as("d")}, t
order by d.program, d.key
on conflict (env, stack, program, key) do update
set queue = excluded.queue, version = excluded.version, spec = excluded.spec, seen_at = excluded.seen_at`,
);

const findSchedules = statement(
  "find_schedules",
  "Reads the ids of declared schedules.",
  ({ schema: s }) => `
select s.id from ${NAMES.from(3).as("d", "ord")}
join ${s}.schedules s on (s.env, s.stack, s.program, s.key) = ($1, $2, d.program, d.key)
order by d.ord`,
);

/** A declaration at the same time holds the row: it is judged by what the row says then. */
const removeSchedules = statement(
  "remove_schedules",
  "Removes schedules that no node has declared for a given time.",
  ({ schema: s, now }) => `
delete from ${s}.schedules s
where env = $1 and stack = $2 and program = any($3::text[]) and seen_at <= ${now} - ${interval("$4::float8")}
  and not exists (select from ${NAMES.from(5).as("d")} where (d.program, d.key) = (s.program, s.key))`,
);

/** The fields of a record. */
const COLUMNS = `s.id, ${groupJson("s")} as "group", s.key, s.spec, ${ms("s.anchor")} as anchor, ${ms("s.last_at")} as last,
  ${ms("s.next_at")} as next, ${ms("s.seen_at")} as "seenAt",
  case when s.paused_at is not null then json_build_object('at', ${ms("s.paused_at")}, 'by', s.paused_by) end as paused`;

/** One row at least: the clock, and when to look again. */
export const dueSchedules = statement(
  "due_schedules",
  "Reads schedules that are due, and says when to look again.",
  (d) => `
with t as materialized (select ${d.now} as now
), mine as materialized (
  select s.* from ${IDS.from(1).as("w")}
  cross join lateral (select * from ${d.schema}.schedules s where s.id = w.id and s.paused_at is null limit 1) s
)
select ${ms("t.now")} as now, x.*,
  (select ceil(extract(epoch from min(next_at) - (select now from t)) * 1000)::float8 from mine
   where next_at > (select now from t)) as next_ms
from t left join lateral (select ${COLUMNS} from mine s where s.next_at <= t.now) x on true
order by x.id`,
);

const listSchedules = statement(
  "list_schedules",
  "Lists the schedules of an env.",
  (d) => `
with t as materialized (select ${d.now} as now)
select ${ms("t.now")} as now, x.* from t
left join lateral (select ${COLUMNS} from ${d.schema}.schedules s where s.env = $1) x on true
order by x."group" ->> 'program' collate "C", x.key collate "C", coalesce(x."group" ->> 'stack', '') collate "C"`,
);

const MEANT = "env = $1 and (program = $2 or id::text = $2)";

const pauseSchedules = statement(
  "pause_schedules",
  "Pauses schedules.",
  ({ schema: s, now }) => `
with paused as (update ${s}.schedules set paused_at = ${now}, paused_by = $3 where ${MEANT} and paused_at is null)
select count(*)::int as n from ${s}.schedules where ${MEANT}`,
);

const resumeSchedules = statement(
  "resume_schedules",
  "Resumes schedules.",
  ({ schema: s }) => `
with resumed as (update ${s}.schedules set paused_at = null, paused_by = null where ${MEANT} and paused_at is not null)
select count(*)::int as n from ${s}.schedules where ${MEANT}`,
);

/** Without an id: there is no schedule, and the row has the rest. */
interface Row extends Omit<ScheduleRecord, "id"> {
  readonly id: string | null;
  readonly now: number;
  readonly next_ms: number | null;
}

export function scheduleStore(db: Database, groups: Groups, wakes: WakeSender): ScheduleStore {
  const count = async (what: typeof pauseSchedules, values: readonly string[]) =>
    (await db.run<{ n: number }>(what, values))[0]!.n;
  return {
    declare: (declaration) => declare(db, declaration),
    async due(ids) {
      const rows = await db.run<Row>(dueSchedules, IDS.arrays(ids));
      const { now, next_ms } = rows[0]!;
      return { now, schedules: recordsOf(rows), nextMs: next_ms } satisfies DueSchedules;
    },
    fire: (fires) => fire(db, groups, wakes, fires),
    async list(env) {
      const rows = await db.run<Row>(listSchedules, [env]);
      return { now: rows[0]!.now, schedules: recordsOf(rows) };
    },
    pause: (env, name, by) => count(pauseSchedules, [env, name, by]),
    resume: (env, name) => count(resumeSchedules, [env, name]),
  };
}

async function declare(db: Database, declaration: ScheduleDeclaration): Promise<string[]> {
  const { env, programs, schedules, removeAfterMs } = declaration;
  const stack = declaration.stack ?? "";
  if (schedules.length > 0) await db.run(declareSchedules, [env, stack, ...DECLARED.arrays(schedules)]);
  if (removeAfterMs !== null && programs.length > 0) {
    await db.run(removeSchedules, [env, stack, programs, removeAfterMs, ...NAMES.arrays(schedules)]);
  }
  if (schedules.length === 0) return [];
  const rows = await db.run<{ id: string }>(findSchedules, [env, stack, ...NAMES.arrays(schedules)]);
  // Another node has removed one in between: it is declared again.
  return rows.length < schedules.length ? declare(db, declaration) : rows.map(({ id }) => id);
}

function recordsOf(rows: readonly Row[]): ScheduleRecord[] {
  return rows.flatMap(({ id, now, next_ms, ...schedule }) => (id === null ? [] : { id, ...schedule }));
}
