// Fires schedules: the decision and its runs are one statement, so that no crash can fall between them and no node holds a lock
// while it decides.

import type { Fire, FireAnswer } from "../../contract/schedule/schedules.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { instant } from "../connection/instant.js";
import { float8, int, oneOf, rowset, text, uuid } from "../connection/rowset.js";
import type { WakeSender } from "../connection/wake-sender.js";
import type { KeyedRun } from "../key/run-keys.js";
import { admitAfter } from "../limit/admit-runs.js";
import { isLimited } from "../limit/limit-columns.js";
import type { Groups } from "../run/groups.js";
import { AFTER_LIMITED_KEYED_RUNS, keyedParts, LIMITED_KEYED_RUNS } from "../run/insert-keyed-runs.js";
import { type PlacedRun, place } from "../run/insert-runs.js";
import { limitColumnsOf } from "../run/limited-runs.js";

/** One row per run: the schedule that it belongs to. */
const SCHEDULES_OF_RUNS = rowset<string>()({ schedule_id: uuid((id) => id) });

const FIRES = rowset<Fire>()({
  id: uuid(({ scheduleId }) => scheduleId),
  seen: float8(({ seenLast }) => seenLast),
  last: float8(({ last }) => last),
  next: float8(({ next }) => next),
});

interface Probe extends NonNullable<Fire["probe"]> {
  readonly scheduleId: string;
}

const PROBES = rowset<Probe>()({
  run_id: uuid(({ runId }) => runId),
  schedule_id: uuid(({ scheduleId }) => scheduleId),
  env: text(({ env }) => env),
  program: text(({ program }) => program),
  opening: text(({ opening }) => opening),
  n: int(({ probe }) => probe),
});

const schedulesOfRuns = SCHEDULES_OF_RUNS.from(AFTER_LIMITED_KEYED_RUNS);
const fires = FIRES.from(schedulesOfRuns.next);
const probes = PROBES.from(fires.next);

/** A run of a schedule that moved. */
const OF_MOVED = oneOf(schedulesOfRuns.at("schedule_id", "asked.position + 1"), "select id from moved");
/** Not one that is to try, or the one that does. */
const MAY_START = `(not ${oneOf("asked.id", `select unnest(${probes.array("run_id")})`)} or ${oneOf("asked.id", "select run_id from tried")})`;
/** No node decided since, and it is not paused. */
const UNDECIDED = `s.last_at = ${instant("f.seen")} and s.paused_at is null`;

/**
 * A schedule advances only from the state that was read, and its runs are inserted only if it did. Of nodes that decide at the same time one finds
 * it as it read it; a row that is locked is left to the node that has it. `there`: runs that an earlier call with a lost reply left.
 */
export const fireSchedules = statement(
  "fire_schedules",
  "Moves schedules to their next time and inserts the runs of this one.",
  (d) => `
with t as materialized (select ${d.now} as now
), locked as materialized (
  select s.id from ${fires.only("id", "seen").as("f")}
  cross join lateral (
    select s.id from ${d.schema}.schedules s where s.id = f.id and ${UNDECIDED} limit 1 for no key update skip locked
  ) s
), moved as (
  update ${d.schema}.schedules s set last_at = ${instant("f.last")}, next_at = ${instant("f.next")}
  from ${fires.as("f")}
  where s.id = f.id and ${UNDECIDED} and ${oneOf("f.id", "select id from locked")}
  returning s.id
), tried as (
  insert into ${d.schema}.breaker_probes (env, program, opening, n, run_id, at)
  select p.env, p.program, p.opening, p.n, p.run_id, t.now
  from ${probes.as("p")}, t
  where ${oneOf("p.schedule_id", "select id from moved")}
  order by 1, 2, 3, 4
  on conflict do nothing
  returning run_id
), ${keyedParts(d, { limited: true, mayBeThere: true, only: `${OF_MOVED} and ${MAY_START}` })}
select 'moved' as what, id from moved
union all select 'run', run_id from k
union all select 'there', r.id from ${LIMITED_KEYED_RUNS.from(1).only("id").as("w")}
  cross join lateral (select r.id from ${d.schema}.runs r where r.id = w.id limit 1) r`,
);

interface Row {
  what: "moved" | "run" | "there";
  id: string;
}

/** Checked before. */
export async function fire(
  db: Database,
  groups: Groups,
  wakes: WakeSender,
  fires: readonly Fire[],
): Promise<FireAnswer[]> {
  const runs = fires.flatMap((one) => one.runs) as KeyedRun[];
  const values = async () => fireColumns(await place(groups, runs), fires);
  const rows = await db.run<Row>(fireSchedules, values);
  const moved = new Set(rows.filter(({ what }) => what === "moved").map(({ id }) => id));
  const there = new Set(rows.filter(({ what }) => what !== "moved").map(({ id }) => id));
  const started = runs.filter(({ id }) => there.has(id));
  await admitAfter(
    db,
    started.filter(isLimited).map(({ id }) => id),
  );
  wakes.send(await groups.ids(started.map(({ group }) => group)));
  return fires.map(({ scheduleId, runs: mine }): FireAnswer => {
    const runIds = mine.filter(({ id }) => there.has(id)).map(({ id }) => id);
    return moved.has(scheduleId) || runIds.length > 0 ? { outcome: "fired", runIds } : { outcome: "moved" };
  });
}

export function fireColumns(runs: readonly PlacedRun<KeyedRun>[], fires: readonly Fire[]): unknown[] {
  return [
    ...LIMITED_KEYED_RUNS.arrays(runs),
    ...limitColumnsOf(runs.map(({ run }) => run)),
    ...SCHEDULES_OF_RUNS.arrays(fires.flatMap((one) => one.runs.map(() => one.scheduleId))),
    ...FIRES.arrays(fires),
    ...PROBES.arrays(fires.flatMap(({ scheduleId, probe }) => (probe ? { ...probe, scheduleId } : []))),
  ];
}
