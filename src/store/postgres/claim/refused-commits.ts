// Finds out why commits were refused: written before, claim lost, journal moved, or an effect that cannot be carried out.

import { InvalidInput } from "../../../kernel/error.js";
import type { Effect } from "../../../kernel/run/effect.js";
import type { Commit, CommitAnswer } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { oneOf } from "../connection/rowset.js";
import { CLAIMS, ENTRIES, NEEDS, refusedColumns } from "./commit-columns.js";
import { unfit } from "./commit-others-sql.js";

/** The parameters of the query that finds why commits were refused. */
const refused = (() => {
  const fence = CLAIMS.from(1);
  const needs = NEEDS.from(fence.next);
  return { fence, needs, entries: ENTRIES.from(needs.next) };
})();

/**
 * Why a commit was not accepted; asked for refused rows only. `recorded` is this very commit and no other: all of its
 * entries are in the journal, under the same claim. (Judged by the first one's claim alone, the second of two
 * different commits at one sequence was reported as written.) A commit under a reclaimed claim is counted there, for people who
 * look at what happened.
 */
export const refusedCommits = statement("refused_commits", "Finds out why commits were not accepted.", (d) => {
  const { schema: s } = d;
  const { fence, needs, entries } = refused;
  return `
with e as materialized (
  select * from ${entries.as("e")}
  union all
  select ord, i, 'take', null, key, null, null from ${needs.as("k")} where key is not null
), written as materialized (
  select e.ord, count(*) as n
  from e
  cross join lateral (
    select from ${s}.journal j
    where j.run_id = ${fence.at("run_id", "e.ord")} and j.seq = ${fence.at("seq", "e.ord")} + e.i
      and j.epoch = ${fence.at("epoch", "e.ord")} and j.token = ${fence.at("token", "e.ord")}
      and j.kind = e.kind and j.key is not distinct from e.key
      and (e.name is null or (j.name = e.name and j.codec is not distinct from e.codec and j.data is not distinct from e.data))
    limit 1
  ) j
  group by 1
), unfit as materialized (
  select jsonb_object_agg(ord, i) as by_ord from (select ord, array[min(i)] as i from (${unfit(d, refused)}) u group by 1) u
), judged as materialized (
  select w.ord, w.run_id, w.epoch, r.seq,
    case
      when ${oneOf("w.ord", `select ord from written where n = ${fence.at("n", "ord")}`)} then 'recorded'
      when r.epoch = w.epoch and r.token = w.token then 'held'
      else 'lost'
    end as reason
  from ${fence.as("w", "ord")}
  left join lateral (select * from ${s}.runs r where r.id = w.run_id limit 1) r on true
), late as materialized (
  select k.at_row from judged w
  cross join lateral (
    select k.ctid as at_row from ${s}.reclaimed_claims k where k.run_id = w.run_id and k.epoch = w.epoch limit 1
  ) k
  where w.reason = 'lost'
), counted as (
  update ${s}.reclaimed_claims k set refused = k.refused + (select count(*) from late where at_row = k.ctid)
  where k.ctid = any(array(select at_row from late))
)
select w.reason, w.seq, coalesce((select by_ord -> w.ord::text from unfit), '[]') as bad_takes
from judged w
order by w.ord`;
});

interface RefusedRow {
  reason: "recorded" | "held" | "lost";
  seq: string | null;
  bad_takes: number[];
}

export async function whyRefused(
  db: Database,
  commits: readonly Commit[],
  tx?: Transaction,
): Promise<readonly CommitAnswer[]> {
  const rows = await db.run<RefusedRow>(refusedCommits, refusedColumns(commits), { tx });
  return commits.map((commit, i): CommitAnswer => {
    const { reason, seq, bad_takes } = rows[i]!;
    if (reason === "recorded") return { outcome: "recorded", seq: commit.expectedSeq + commit.effects.length };
    if (reason === "lost") return { outcome: "lost" };
    if (Number(seq) !== commit.expectedSeq) return { outcome: "moved", seq: Number(seq) };
    if (bad_takes.length === 0) return { outcome: "busy" };
    const bad = bad_takes[0]! - 1;
    return { outcome: "refused", error: problemOfNeed(`effects[${bad}]`, commit.effects[bad]!) };
  });
}

/** The message is not there or was taken, or the child's id is another run's. */
function problemOfNeed(path: string, effect: Effect): InvalidInput {
  return effect.kind === "enqueue"
    ? new InvalidInput(`${path}.run.id`, "belongs to another run; draw a new id for a child")
    : new InvalidInput(`${path}.messageKey`, "no unread message has this key in the run's inbox");
}
