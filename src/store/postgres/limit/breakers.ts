// Circuit breakers, read from how runs have ended, by the index of ended runs.

import {
  type BreakerQuestion,
  type BreakerRecord,
  type BreakerStore,
  PROBE_GRACE_MS,
} from "../../contract/limit/breakers.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { float8, int, rowset, text } from "../connection/rowset.js";
import { ENDED, ENDED_PARTS, endedPartOf } from "../run/ended-states.js";

const QUESTIONS = rowset<BreakerQuestion>()({
  env: text(({ env }) => env),
  program: text(({ program }) => program),
  threshold: int(({ threshold }) => threshold),
  half_open_ms: float8(({ halfOpenMs }) => halfOpenMs),
});

/**
 * For each question a few steps down the index: the last success of each of the program's groups, and as many failures after
 * it as the threshold asks for. (The failures are read by a function
 * that may not sort: few of them expected, a planner sorted all of the program's.) A run that ended in the very instant of a success counts as before it.
 */
export const readBreakers = statement(
  "read_breakers",
  "Reads the state of circuit breakers from how runs have ended.",
  ({ schema: s, now }) => `
select b.failures, b.opening, b.failures >= q.threshold as open,
  b.last_at + ${interval("q.half_open_ms")} <= ${now} as due, p.n,
  case
    when p.n is null then true
    when r.state is null then p.at <= ${now} - interval '${PROBE_GRACE_MS} milliseconds'
    else r.state in ${ENDED}
  end as free
from ${QUESTIONS.from(1).as("q", "ord")}
cross join lateral (
  select array(select g.id from ${s}.claim_groups g where g.env = q.env and g.program = q.program) as ids
) g
cross join lateral (
  select coalesce(max(x.ended_at), '-infinity') as at from unnest(g.ids) as i(id)
  cross join lateral (
    select r.ended_at from ${s}.runs r
    where r.claim_group = i.id and ${endedPartOf("r")} = ${ENDED_PARTS.ended} and r.ended_at > '-infinity' and r.state = 'completed'
    order by r.ended_at desc, r.id desc limit 1
  ) x
) good
cross join lateral (
  select count(*)::int as failures, max(y.ended_at) as last_at,
    (array_agg(y.id || ':' || y.generation order by y.ended_at desc, y.id desc))[1] as opening
  from (
    select x.* from unnest(g.ids) as i(id)
    cross join lateral ${s}.last_failures(i.id, good.at, q.threshold) x
    order by x.ended_at desc, x.id desc limit q.threshold
  ) y
) b
left join lateral (
  select p.n, p.at, p.run_id from ${s}.breaker_probes p
  where p.env = q.env and p.program = q.program and p.opening = b.opening order by p.n desc limit 1
) p on true
left join lateral (select r.state from ${s}.runs r where r.id = p.run_id limit 1) r on true
order by q.ord`,
);

/** One try per failure that opened it; tries for earlier failures are no longer needed, but a caller's transaction only gets INSERTs. */
const takeProbe = statement(
  "take_probe",
  "Takes the one probe that an open breaker allows.",
  ({ schema: s, now }) => `
insert into ${s}.breaker_probes (env, program, opening, n, run_id, at) values ($1, $2, $3, $4, $5::uuid, ${now})
on conflict do nothing returning run_id`,
);
const whoProbes = statement(
  "who_probes",
  "Checks that a run has taken a probe.",
  ({ schema: s }) =>
    `select run_id from ${s}.breaker_probes where env = $1 and program = $2 and opening = $3 and n = $4 and run_id = $5::uuid`,
);
const isProbe = statement(
  "is_probe",
  "Checks whether a run is a probe.",
  ({ schema: s }) => `select from ${s}.breaker_probes where run_id = $1 limit 1`,
);

interface Row {
  failures: number;
  opening: string | null;
  open: boolean;
  due: boolean | null;
  n: number | null;
  free: boolean;
}

export function breakerStore(db: Database): BreakerStore {
  return {
    async read(questions, { tx } = {}) {
      if (questions.length === 0) return [];
      return (await db.run<Row>(readBreakers, QUESTIONS.arrays(questions), { tx })).map(recordOf);
    },
    async takeProbe(request, { tx } = {}) {
      const { env, program, opening, probe, runId } = request;
      const values = [env, program, opening, probe, runId];
      if ((await db.run(takeProbe, values, { tx })).length > 0) return true;
      return (await db.run(whoProbes, values, { tx })).length > 0;
    },
    isProbe: async (runId) => (await db.run(isProbe, [runId])).length > 0,
  };
}

function recordOf({ failures, opening, open, due, n, free }: Row): BreakerRecord {
  if (!open) return { state: "closed", failures, opening: null, probe: null };
  if (!due) return { state: "open", failures, opening, probe: null };
  return { state: "half-open", failures, opening, probe: free ? (n ?? 0) + 1 : null };
}
