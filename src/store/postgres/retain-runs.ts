// Puts ended runs aside, and deletes them with everything that belongs to them.

import { checkAge } from "../check/filter.js";
import { refuse } from "../check/value.js";
import type { Database } from "./database.js";
import { type Dialect, statement } from "./dialect.js";
import { ENDED } from "./ended-states.js";
import { interval } from "./instant.js";

interface Age {
  readonly env: string;
  readonly endedBeforeMs: number;
  readonly limit: number;
}

const oldOnes = ({ schema: s, now }: Dialect, also: string) => `
  select r.id from ${s}.runs r join ${s}.claim_groups g on g.id = r.claim_group
  where g.env = $1 and r.state in ${ENDED} and r.ended_at <= (select ${now}) - ${interval("$2::float8")} and ${also}
  order by r.id limit $3
  for no key update of r skip locked`;

const archiveRuns = statement(
  "archive_runs",
  (d) => `
with old as materialized (${oldOnes(d, "r.archived_at is null")})
update ${d.schema}.runs r set archived_at = ${d.now}
where r.id = any(array(select id from old)) and r.state in ${ENDED} and r.archived_at is null
returning r.id`,
);

/** Only terminal and unreferenced: a live parent may still ask for its child's result. */
const pruneRuns = statement(
  "prune_runs",
  (d) => `
with old as materialized (${oldOnes(
    d,
    `not exists (select from ${d.schema}.runs p where p.id = r.parent_id and p.state not in ${ENDED})`,
  )}), gone as (
  delete from ${d.schema}.runs r where r.id = any(array(select id from old)) and r.state in ${ENDED} returning r.id
), journal as (
  delete from ${d.schema}.journal j where j.run_id = any(array(select id from gone))
), inbox as (
  delete from ${d.schema}.inbox i where i.run_id = any(array(select id from gone))
), keys as (
  delete from ${d.schema}.run_keys k where k.run_id = any(array(select id from gone))
)
select id from gone`,
);

export async function archive(db: Database, age: Age): Promise<number> {
  refuse(checkAge(age));
  const { env, endedBeforeMs, limit } = age;
  return limit < 1 ? 0 : (await db.run(archiveRuns, [env, endedBeforeMs, limit])).length;
}

export async function prune(db: Database, age: Age): Promise<number> {
  refuse(checkAge(age));
  const { env, endedBeforeMs, limit } = age;
  return limit < 1 ? 0 : (await db.run(pruneRuns, [env, endedBeforeMs, limit])).length;
}
