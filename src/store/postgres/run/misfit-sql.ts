// The part of a commit for a run whose journal its holder's code does not fit, as SQL.

import { ANYBODYS_ENTRIES } from "../../contract/run/misfits.js";
import type { Dialect } from "../connection/dialect.js";
import { isHeard } from "../node/presence-sql.js";

/** A live node `n`, and by which names it may be among the misfits of a run. */
export const isLiveNode = (now: string) => `n.stopped_at is null and ${isHeard(now)}`;
export const NAMES = "array[coalesce(n.build, ''), n.incarnation::text]";

const INCARNATION = "'^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'";
const ANYBODYS = ANYBODYS_ENTRIES.map((kind) => `'${kind}'`).join(", ");

/**
 * The rows of `l` (with build, misfits, owner and claim_group), given `t`; of a misfit also who has tried by now, whether another
 * live node may, and which build wrote last before this claim. When that is the holder's own build on another node, its name means two versions of code:
 * then only this node counts as tried. Incarnations that are gone are dropped, or each restart would leave one.
 */
export function withMisfits({ schema: s }: Dialect): string {
  return `
  select l.*, m.env, m.wanted, m.tried, m.fits from l cross join t left join lateral (
    select g.env, w.build as wanted, x.tried, exists (
      select from ${s}.nodes n
      where n.env = g.env and ${isLiveNode("t.now")} and l.claim_group = any(n.claims) and not ${NAMES} && x.tried
    ) as fits
    from (select env from ${s}.claim_groups g where g.id = l.claim_group limit 1) g
    left join lateral (
      select n.build, n.incarnation from (
        select j.token from ${s}.journal j
        where j.run_id = l.run_id and j.token <> l.token and j.kind not in (${ANYBODYS}) order by j.seq desc limit 1
      ) j cross join lateral (
        select n.build, n.incarnation from ${s}.nodes n where right(n.incarnation::text, 17) = right(j.token::text, 17) limit 1
      ) n
    ) w on true
    cross join lateral (
      select array(
        select name from unnest(l.misfits) with ordinality as u(name, i)
        where name !~ ${INCARNATION}
          or exists (select from ${s}.nodes n where n.incarnation::text = name and ${isLiveNode("t.now")})
        order by i
      ) || case when w.build = l.build and w.incarnation <> l.owner then l.owner::text else l.build end as tried
    ) x
    where l.build is not null
  ) m on true`;
}

/** The CTE `misfits`, given `f` and `t`: what housekeeping finds them by. */
export function noteMisfits({ schema: s }: Dialect, accepted: string): string {
  return `misfits as (
  insert into ${s}.misfit_runs as k (run_id, env, claim_group, wanted, look_at)
  select f.run_id, f.env, f.claim_group, f.wanted, t.now from f, t where f.build is not null and ${accepted}
  on conflict (run_id) do update set wanted = coalesce(excluded.wanted, k.wanted), look_at = excluded.look_at
)`;
}
