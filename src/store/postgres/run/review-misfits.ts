// Reviews runs that some code does not fit: quarantined while no live node is left to try, claimable again when one starts.

import { LOOK_AGAIN_MS, type MisfitReview, type MisfitReviewed, noFittingNode } from "../../contract/run/misfits.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { announce, type MovedRow } from "../limit/admit-runs.js";
import { ENDED } from "./ended-states.js";
import { isLiveNode, NAMES } from "./misfit-sql.js";

const [BEFORE, AFTER] = JSON.stringify(noFittingNode(["$"])).split("$");
/** What `noFittingNode` makes, with the names of each row put in. */
const REASON = `'${BEFORE}' || trim(both '"' from to_json(array_to_string(misfits, ', '))::text) || '${AFTER}'`;

/**
 * `look` names the runs; rows that others have locked are left to the next time. Judged is the row as it was locked; the UPDATEs
 * do not ask for its state again, or a planner without statistics reads all of the partial index. Rows of
 * misfit_runs whose run has ended, or begun a new generation, are removed here and by nothing else.
 */
const review = (d: Dialect, look: string) => {
  const { schema: s, now } = d;
  return `
with t as materialized (select ${now} as now
), look as materialized (${look}
), l as materialized (
  select r.id, r.state, r.misfits, r.claim_group from ${s}.runs r
  where r.id = any(array(select run_id from look)) order by r.id for no key update skip locked
), live as materialized (
  select n.claims, ${NAMES} as names from ${s}.nodes n, t where n.env = $1 and ${isLiveNode("t.now")}
), judged as materialized (
  select l.*, exists (select from live n where l.claim_group = any(n.claims) and not n.names && l.misfits) as fits
  from l where l.misfits is not null and l.state not in ${ENDED}
), lifted as (
  update ${s}.runs r set state = 'waiting', ended_at = null
  where r.id = any(array(select id from judged where fits and state = 'quarantined'))
  returning r.id, r.claim_group, r.state
), shut as (
  update ${s}.runs r set state = 'quarantined', seq = r.seq + 1, ended_at = t.now
  from t
  where r.id = any(array(select id from judged where not fits and state = 'waiting'))
  returning r.id, r.claim_group, r.state, r.seq, r.misfits
), written as (
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, seq, 0, 'quarantined', '', 'json', ${REASON}, t.now from shut, t
), gone as (
  delete from ${s}.misfit_runs m
  where m.run_id = any(array(select run_id from look)) and m.run_id <> all(array(select id from judged))
    and not exists (select from ${s}.runs r where r.id = m.run_id and r.misfits is not null and r.state not in ${ENDED})
), later as (
  update ${s}.misfit_runs m set look_at = t.now + ${interval(String(LOOK_AGAIN_MS))} from t
  where m.run_id = any(array(select id from judged))
)
select x.id, g.program, x.outcome, x.claim_group, x.state from (
  select id, claim_group, state, 'lifted' as outcome from lifted
  union all select id, claim_group, state, 'quarantined' from shut
) x cross join lateral (select program from ${s}.claim_groups g where g.id = x.claim_group limit 1) g
order by x.id`;
};

export const reviewDue = statement(
  "review_misfits",
  "Hands out runs that no node's code fitted, if another live node may fit.",
  (d) =>
    review(
      d,
      `
  select m.run_id from ${d.schema}.misfit_runs m
  where m.env = $1 and m.look_at <= (select ${d.now})
  order by m.look_at limit $2 for no key update skip locked`,
    ),
);

/** The runs that a node which has just started may try. */
export const reviewFor = statement(
  "review_misfits_for",
  "Hands out runs that no node's code fitted, for a node that has just started.",
  (d) =>
    review(
      d,
      `
  select m.run_id from ${d.schema}.nodes n
  cross join lateral unnest(n.claims) as c(id)
  cross join lateral (
    select m.run_id from ${d.schema}.misfit_runs m cross join lateral (
      select from ${d.schema}.runs r
      where r.id = m.run_id and r.state = 'quarantined' and not r.misfits && ${NAMES} limit 1
    ) r
    where m.claim_group = c.id and m.env = $1 limit $2
  ) m
  where n.incarnation = $3::uuid limit $2`,
    ),
);

type Row = MovedRow & Omit<MisfitReviewed, "runId">;

async function reviewMisfits(db: Database, { env, limit, newcomer }: MisfitReview): Promise<readonly MisfitReviewed[]> {
  if (limit < 1) return [];
  const rows = await (newcomer === undefined
    ? db.run<Row>(reviewDue, [env, limit])
    : db.run<Row>(reviewFor, [env, limit, newcomer]));
  await announce(db, rows);
  return rows.map(({ id: runId, program, outcome }) => ({ runId, program, outcome }));
}

export const reviews = { reviewMisfits };
