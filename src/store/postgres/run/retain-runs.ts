// Archives ended runs, deletes them with everything that belongs to them, and counts those that may be deleted.

import { ENDED_STATES, type EndedState } from "../../../kernel/run/run-state.js";
import { PROBE_GRACE_MS } from "../../contract/limit/breakers.js";
import type { EndedRuns } from "../../contract/run/retention.js";
import type { Database } from "../connection/database.js";
import { type Dialect, query, type Statement, statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { ENDED, ENDED_PARTS, endedPartOf } from "./ended-states.js";
import { removeOld, removePastRates, UNFLUSHED } from "./remove-runs-sql.js";

/** Runs in one statement. One statement for 200,000 took longer than the query timeout, and was repeated until the call failed. */
const BATCH = 1_000;

/** The values of `oldOnes` in their order; the limit is third. */
const valuesOf = ({ env, endedBeforeMs, states, program, queue, runIds }: EndedRuns, limit: number) => [
  env,
  endedBeforeMs,
  limit,
  states ?? null,
  program ?? null,
  queue ?? null,
  runIds ?? null,
];

const GROUPS = "g.env = $1 and ($5::text is null or g.program = $5) and ($6::text is null or g.queue = $6)";
const until = ({ now }: Dialect) => `(select ${now}) - ${interval("$2::float8")}`;
const isOld = (d: Dialect) =>
  `r.ended_at <= ${until(d)} and r.state in ${ENDED} and ($4::text[] is null or r.state = any($4))`;

/**
 * The oldest first. Each endedPartOf of a group is one range of the index runs_ended: what is not old is not read, nor what is
 * another env's or archived already (through the primary key, 300,000 runs were read to find that none is old).
 * Known, the limit makes a planner that expects fewer rows sort all of the range: it is in a sub-select.
 * Locked afterwards, by id: the ranges find more than is wanted. Runs that are named ($7) are found by their ids.
 */
const oldOnes = (d: Dialect, parts: readonly number[], also: string) => `
with found as materialized (
  select y.id from (
    select x.id, x.ended_at
    from ${d.schema}.claim_groups g
    cross join unnest(array[${parts.join(", ")}]) as part(n)
    cross join lateral (
      select r.id, r.ended_at from ${d.schema}.runs r
      where r.claim_group = g.id and ${endedPartOf("r")} = part.n and ${isOld(d)} and ${also}
      order by r.ended_at, r.id
      limit (select $3::int)
    ) x
    where $7::uuid[] is null and ${GROUPS}
    union all
    select r.id, r.ended_at
    from unnest($7::uuid[]) as named(id)
    cross join lateral (select * from ${d.schema}.runs r where r.id = named.id limit 1) r
    cross join lateral (select * from ${d.schema}.claim_groups g where g.id = r.claim_group limit 1) g
    where ${GROUPS} and ${isOld(d)} and ${endedPartOf("r")} in (${parts.join(", ")}) and ${also}
  ) y
  order by y.ended_at, y.id
  limit $3
), old as materialized (
  select r.id from ${d.schema}.runs r
  where r.id = any(array(select id from found)) and r.state in ${ENDED}
  for no key update of r skip locked
)`;

export const archiveRuns = statement(
  "archive_runs",
  "Archives runs that ended a given time ago.",
  (d) => `${oldOnes(d, [ENDED_PARTS.ended, ENDED_PARTS.trouble], "true")}, archived as (
  update ${d.schema}.runs r set archived_at = ${d.now}
  where r.id = any(array(select id from old)) and r.state in ${ENDED} and r.archived_at is null
  returning 1
)
select count(*)::int as removed from archived`,
);

/** A live parent may still ask for its child's result, and so may one that is retried, unless this call deletes it, too. */
const isUnneeded = (d: Dialect) => `not exists (
        select from ${d.schema}.runs p
        where p.id = r.parent_id and p.state not in ('completed', 'cancelled', 'skipped')
          and not (p.ended_at is not null and p.state in ('failed', 'dead') and p.ended_at <= ${until(d)}
            and ($4::text[] is null or p.state = any($4))))`;

export const pruneRuns = statement(
  "prune_runs",
  "Removes runs that ended a given time ago.",
  (
    d,
  ) => `${oldOnes(d, Object.values(ENDED_PARTS), isUnneeded(d))}, ${removeOld(d, `greatest($2::float8, ${PROBE_GRACE_MS})`)}, ${removePastRates(d)}
select (select count(*) from gone)::int as removed ${UNFLUSHED}`,
);

const countPrunable = query<EndedRuns>({
  name: "count_prunable_runs",
  purpose: "Counts the runs that would be removed, by state.",
  text: (d, asked) => ({
    text: `
select r.state, count(*)::int as n from ${d.schema}.claim_groups g join ${d.schema}.runs r on r.claim_group = g.id
where ${GROUPS} and ($7::uuid[] is null or r.id = any($7)) and $3::int is null and r.ended_at is not null and ${isOld(d)} and ${isUnneeded(d)}
group by 1`,
    values: valuesOf(asked, 0).with(2, null),
  }),
  samples: { old: { env: "e", endedBeforeMs: 1 } },
});

/** In batches, each a statement with its own time limit. Returns how many. */
async function inBatches(db: Database, which: Statement, limit: number, values: (limit: number) => unknown[]) {
  let done = 0;
  while (done < limit) {
    const most = Math.min(limit - done, BATCH);
    const [row] = await db.run<{ removed: number }>(which, values(most));
    done += row!.removed;
    if (row!.removed < most) break;
  }
  return done;
}

/** Removes by env and age alone. */
export const byAge =
  (which: Statement) =>
  (db: Database, { env, endedBeforeMs, limit }: { env: string; endedBeforeMs: number; limit: number }) =>
    inBatches(db, which, limit, (most) => [env, endedBeforeMs, most]);

const byFilter = (which: Statement) => (db: Database, options: EndedRuns & { readonly limit: number }) =>
  inBatches(db, which, options.limit, (most) => valuesOf(options, most));

async function count(db: Database, options: EndedRuns) {
  const rows = await db.runWhole<{ state: EndedState; n: number }, EndedRuns>(countPrunable, options);
  const counts = new Map(rows.map(({ state, n }) => [state, n]));
  const known = ENDED_STATES.filter((state) => counts.has(state));
  return Object.fromEntries(known.map((state) => [state, counts.get(state)])) as Partial<Record<EndedState, number>>;
}

export const retention = { archive: byFilter(archiveRuns), prune: byFilter(pruneRuns), countPrunable: count };
