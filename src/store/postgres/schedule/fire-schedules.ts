// Fires schedules: the decision and its runs are one statement, so that no crash can fall between them and nobody holds a lock
// while it thinks.

import type { Fire, FireAnswer } from "../../contract/schedule/schedules.js";
import { at, oneOf, unnest } from "../connection/batch.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import type { Hints } from "../connection/hints.js";
import { instant } from "../connection/instant.js";
import { type KeyedRun, keyColumnsOf } from "../key/run-keys.js";
import { admitAfter } from "../limit/admit-runs.js";
import { isLimited } from "../limit/limit-columns.js";
import type { Groups } from "../run/groups.js";
import { columnsOf, keyedParts, LIMITED_KEYED_PARAMETERS, limitedColumnsOf } from "../run/insert-runs.js";

const RUNS_SCHEDULE = LIMITED_KEYED_PARAMETERS + 1;
const FIRES = RUNS_SCHEDULE + 1;
const PROBES = FIRES + 4;
const PROBE = ["uuid", "uuid", "text", "text", "text", "int"];
/** A run of a schedule that moved. */
const OF_MOVED = oneOf(at(RUNS_SCHEDULE, "uuid", "asked.position + 1"), "select id from moved");
/** Not one that is to try, or the one that does. */
const MAY_START = `(not ${oneOf("asked.id", `select unnest($${PROBES}::uuid[])`)} or ${oneOf("asked.id", "select run_id from tried")})`;
/** Nobody decided since, and nobody paused it. */
const UNDECIDED = `s.last_at = ${instant("f.seen")} and s.paused_at is null`;

/**
 * A schedule moves on from where it was read, and its runs go in if it did. Of nodes that decide at the same time one finds
 * it as it read it; a row that is locked is left to whoever has it. `there`: runs that an earlier call with a lost reply left.
 */
export const fireSchedules = statement(
  "fire_schedules",
  (d) => `
with t as materialized (select ${d.now} as now
), locked as materialized (
  select s.id from ${unnest(FIRES, ["uuid", "float8"])} as f(id, seen)
  cross join lateral (
    select s.id from ${d.schema}.schedules s where s.id = f.id and ${UNDECIDED} limit 1 for no key update skip locked
  ) s
), moved as (
  update ${d.schema}.schedules s set last_at = ${instant("f.last")}, next_at = ${instant("f.next")}
  from ${unnest(FIRES, ["uuid", "float8", "float8", "float8"])} as f(id, seen, last, next)
  where s.id = f.id and ${UNDECIDED} and ${oneOf("f.id", "select id from locked")}
  returning s.id
), tried as (
  insert into ${d.schema}.breaker_probes (env, program, opening, n, run_id, at)
  select p.env, p.program, p.opening, p.n, p.run_id, t.now
  from ${unnest(PROBES, PROBE)} as p(run_id, schedule_id, env, program, opening, n), t
  where ${oneOf("p.schedule_id", "select id from moved")}
  order by 1, 2, 3, 4
  on conflict do nothing
  returning run_id
), ${keyedParts(d, { limited: true, mayBeThere: true, only: `${OF_MOVED} and ${MAY_START}` })}
select 'moved' as what, id from moved
union all select 'run', run_id from k
union all select 'there', r.id from ${unnest(1, ["uuid"])} as w(id)
  cross join lateral (select r.id from ${d.schema}.runs r where r.id = w.id limit 1) r`,
);

interface Row {
  what: "moved" | "run" | "there";
  id: string;
}

/** Checked before. */
export async function fire(db: Database, groups: Groups, hints: Hints, fires: readonly Fire[]): Promise<FireAnswer[]> {
  const runs = fires.flatMap((one) => one.runs) as KeyedRun[];
  const values = async () => {
    const ids = await groups.ids(runs.map(({ group }) => group));
    const places = new Map(runs.map((run, i) => [run, { group: ids[i]!, position: i }]));
    return [
      ...[...columnsOf(runs, places), ...keyColumnsOf(runs), ...limitedColumnsOf(runs)],
      fires.flatMap((one) => one.runs.map(() => one.scheduleId)),
      fires.map(({ scheduleId }) => scheduleId),
      fires.map(({ seenLast }) => seenLast),
      fires.map(({ last }) => last),
      fires.map(({ next }) => next),
      ...probeColumns(fires),
    ];
  };
  const rows = await db.run<Row>(fireSchedules, values);
  const moved = new Set(rows.filter(({ what }) => what === "moved").map(({ id }) => id));
  const there = new Set(rows.filter(({ what }) => what !== "moved").map(({ id }) => id));
  const started = runs.filter(({ id }) => there.has(id));
  await admitAfter(
    db,
    started.filter(isLimited).map(({ id }) => id),
  );
  hints.tell(await groups.ids(started.map(({ group }) => group)));
  return fires.map(({ scheduleId, runs: mine }): FireAnswer => {
    const runIds = mine.filter(({ id }) => there.has(id)).map(({ id }) => id);
    return moved.has(scheduleId) || runIds.length > 0 ? { outcome: "fired", runIds } : { outcome: "moved" };
  });
}

function probeColumns(fires: readonly Fire[]): unknown[][] {
  const probes = fires.flatMap(({ scheduleId, probe }) => (probe ? [{ ...probe, scheduleId }] : []));
  return [
    probes.map((one) => one.runId),
    probes.map((one) => one.scheduleId),
    probes.map((one) => one.env),
    probes.map((one) => one.program),
    probes.map((one) => one.opening),
    probes.map((one) => one.probe),
  ];
}
