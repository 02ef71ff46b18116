// Admits held runs as far as their limits allow. The function admit_runs in the database decides under locks; this file
// chooses the lines that are worth a lock, and moves a run that has passed one stage to the next.

import type { Overflow } from "../../../kernel/run/new-run.js";
import type { Admission } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { IDS, rowset, text } from "../connection/rowset.js";
import { DUE_SLACK } from "../migrations/0001-limits.js";

/** Starts of a rate are given out so far ahead: few enough that priority still means something, more than a round of housekeeping. */
const AHEAD = "interval '2 seconds'";
/** Locks taken in one call. A server has room for some thousands. */
const MOST_KEYS = 200;

/**
 * Of the keys in a CTE `asked`, those where a run is due and there seems to be room, or where not every run may wait: any
 * other full line costs no lock. Seen
 * without a lock, this may be out of date; but every statement that frees a place or joins a line is followed by this one, after it has committed.
 */
const admitted = ({ schema: s }: Dialect) => `
select a.run_id, a.claim_group, a.state, ceil(extract(epoch from a.start_at - t.now) * 1000)::float8 as in_ms,
  a.overflow, a.told,
  case when a.overflow is not null then (select g.program from ${s}.claim_groups g where g.id = a.claim_group) end as program
from t cross join lateral ${s}.admit_runs(array(
  select a.key from asked a
  cross join lateral (
    select l.kind, l.max from ${s}.run_limits l
    where l.key = a.key and l.state = 'waits' and l.available_at <= (select now from t) + ${DUE_SLACK}
    order by l.priority, l.available_at, l.run_id limit 1
  ) head
  where case head.kind
    when 'rate' then coalesce((select r.next_at from ${s}.limit_rates r where r.key = a.key limit 1) <= (select now from t) + ${AHEAD}, true)
    else (select count(*) from ${s}.run_limits g where g.key = a.key and g.state = 'granted') < head.max
  end or exists (select from ${s}.run_limits o where o.key = a.key and o.state = 'waits' and o.overflow is not null)
), t.now, ${AHEAD}) a`;

/** For a held run, the line it is in; for a run that released its places, the lines of all of them. */
export const admitForRuns = statement(
  "admit_for_runs",
  "Admits held runs from the lines in which these runs wait or had a place.",
  (d) => `
with t as materialized (select ${d.now} as now
), asked as materialized (
  select distinct l.key from ${IDS.from(1).as("w")}
  cross join lateral (select state from ${d.schema}.runs r where r.id = w.id limit 1) r
  cross join lateral (select key, state from ${d.schema}.run_limits l where l.run_id = w.id limit 100) l
  where l.state = 'waits' or r.state <> 'held'
)${admitted(d)}`,
);

const KEYS = rowset<string>()({ key: text((key) => key) });

export const admitKeys = statement(
  "admit_keys",
  "Admits held runs from the lines of these limit keys.",
  (d) => `
with t as materialized (select ${d.now} as now
), asked as materialized (select key from ${KEYS.from(1).as("w")}
)${admitted(d)}`,
);

/**
 * The next lines in which runs wait, one after the other and round again: with 10,000 keys each has its turn. Each is
 * found by one step down the index; where the next call begins is in meta, written only while there are more. A key begins with
 * its env and a slash, and the next character is a zero: other envs' lines are never read.
 */
export const nextLines = statement(
  "next_lines",
  "Finds the next limit keys in which runs wait.",
  ({ schema: s }) => `
with recursive place as materialized (
  select coalesce((select value from ${s}.meta where key = $2 || ' limit_place'), $2 || '/') as at
), step(key, n) as (
  (select key, 1 from ${s}.run_limits where state = 'waits' and key > (select at from place) and key < $2 || '0'
   order by key limit 1)
  union all
  select l.key, step.n + 1 from step
  cross join lateral (
    select key from ${s}.run_limits l where state = 'waits' and l.key > step.key and l.key < $2 || '0' order by l.key limit 1
  ) l
  where step.n < $1
), further as materialized (
  select coalesce((select key from step where n = $1), $2 || '/') as at
), noted as materialized (
  select key from ${s}.meta where key = $2 || ' limit_place' for no key update skip locked
), moved as (
  update ${s}.meta m set value = f.at from noted k, further f, place p where m.key = k.key and f.at <> p.at
), first as (
  insert into ${s}.meta (key, value) select $2 || ' limit_place', f.at from further f, place p
  where f.at <> p.at and not exists (select from ${s}.meta where key = $2 || ' limit_place')
  on conflict do nothing
)
select key from step order by n`,
);

interface Row {
  run_id: string;
  claim_group: number;
  state: "waiting" | "held" | "skipped";
  /** Until it may start; negative when it may already. */
  in_ms: number;
  /** Why it was skipped, and whose run it was. */
  overflow: Overflow | null;
  program: string;
  /** A parent that has a message of its end. */
  told: string | null;
}

async function admit(db: Database, whom: Admission): Promise<number> {
  if ("runIds" in whom) {
    return admitAlong(db, whom.runIds);
  }
  if (whom.keys < 1) return 0;
  const lines = await db.run<{ key: string }>(nextLines, [Math.min(whom.keys, MOST_KEYS), whom.env]);
  if (lines.length === 0) return 0;
  return settle(db, await db.run<Row>(admitKeys, [lines.map(({ key }) => key)]));
}

async function admitAlong(db: Database, runIds: readonly string[]): Promise<number> {
  let admitted = 0;
  for (let from = 0; from < runIds.length; from += MOST_KEYS) {
    admitted += await settle(db, await db.run<Row>(admitForRuns, [runIds.slice(from, from + MOST_KEYS)]));
  }
  return admitted;
}

/** Each stage is a separate transaction, so that no lock is requested while others are held. */
async function settle(db: Database, rows: readonly Row[]): Promise<number> {
  const ready = rows.filter(({ state }) => state === "waiting");
  db.onWork(
    ready.map(({ claim_group }) => claim_group),
    ready.map(({ in_ms }) => in_ms),
  );
  const skipped = rows.flatMap(({ run_id: runId, program, overflow }) =>
    overflow ? { runId, program, overflow } : [],
  );
  const parents = rows.flatMap(({ told }) => told ?? []);
  if (skipped.length > 0) await db.onSkipped(skipped, parents);
  // A skipped run may have had places in other lines.
  const further = rows.flatMap(({ run_id, state }) => (state === "waiting" ? [] : run_id));
  return ready.length + (await admitAlong(db, further));
}

/** Follows a write that is done: a failure here costs time only, because housekeeping admits the runs later. */
export async function admitAfter(db: Database, runIds: readonly string[]): Promise<void> {
  if (runIds.length > 0) await admit(db, { runIds }).catch(() => {});
}

/** A run that a statement has moved. */
export interface MovedRow {
  readonly id: string;
  readonly claim_group: number;
  readonly state: string;
}

/** Wakes nodes for those that wait now, and admits those that are held as far as their limits allow. */
export async function announce(db: Database, moved: readonly MovedRow[]): Promise<void> {
  db.onWork([...new Set(moved.flatMap(({ state, claim_group }) => (state === "waiting" ? claim_group : [])))]);
  await admitAfter(
    db,
    moved.flatMap(({ state, id }) => (state === "held" ? id : [])),
  );
}

export const admissions = { admit };
