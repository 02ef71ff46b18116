// Registers a node: together with others, or alone in its env and stack.

import type { Dialect } from "../connection/dialect.js";
import { HERE, isHere, isLive } from "../node/presence-sql.js";

/** The class of the locks under which nodes are registered: the first half of PostgreSQL's two-part lock key. */
const REGISTRATION_CLASS = 0x686f6c6e;

/**
 * Locks first and reads in a separate statement, whose snapshot is younger than the lock: with one statement, two nodes that ask
 * to be alone at the same moment both find no other. Nodes that do not ask share the lock and do not wait.
 */
export const nodes = ({ schema: s }: Dialect) => `
create function ${s}.register_node(me ${s}.nodes, at timestamptz, programs json)
  returns table (outcome text, rival ${s}.nodes, dead uuid[], mine ${s}.nodes) language plpgsql set search_path = pg_catalog as $$
declare
  scope int := hashtext('${s.replaceAll('"', "")}' || me.env || '/' || coalesce(me.stack, ''));
begin
  if me.alone then perform pg_advisory_xact_lock(${REGISTRATION_CLASS}, scope);
  else perform pg_advisory_xact_lock_shared(${REGISTRATION_CLASS}, scope);
  end if;
  if not exists (select from ${s}.nodes n where n.incarnation = me.incarnation) then
    with ${HERE}
    select n.* into rival from ${s}.nodes n
    where n.env = me.env and n.stack is not distinct from me.stack and n.incarnation <> me.incarnation
      and (me.alone or n.alone) and ${isLive("at")}
    order by n.started_at, n.incarnation limit 1;
    if found then
      outcome := 'refused';
      return next;
      return;
    end if;
    -- The mode stored for the identity wins over the node's option. In full mode it claims from all its groups; in another
    -- mode it declares from which.
    insert into ${s}.nodes (incarnation, identity, name, env, stack, build, started_at, seen_at, serves, executors, alone,
      heartbeat_ms, lease_ms, presence_grace_ms, claims, mode, overrides)
    select me.incarnation, me.identity, me.name, me.env, me.stack, me.build, at, at, me.serves, me.executors, me.alone,
      me.heartbeat_ms, me.lease_ms, me.presence_grace_ms,
      case when coalesce(k.mode, me.mode) = 'full' and coalesce(k.overrides, '{}') = '{}' then me.serves else '{}' end,
      coalesce(k.mode, me.mode), coalesce(k.overrides, '{}')
    from (select) one left join lateral (
      select k.mode, k.overrides from ${s}.kept_modes k where k.env = me.env and k.identity = me.identity
    ) k on true;
  else
    -- What it works on may change while it runs.
    update ${s}.nodes n set serves = me.serves, executors = me.executors
    where n.incarnation = me.incarnation and (n.serves, n.executors) is distinct from (me.serves, me.executors);
  end if;
  select n.* into mine from ${s}.nodes n where n.incarnation = me.incarnation;
  outcome := case when exists (select from ${s}.nodes n where n.incarnation = me.incarnation and n.stopped_at is null)
    then 'registered' else 'stopped' end;
  if outcome = 'registered' then
    with ${HERE}, replaced as materialized (
      select n.incarnation, me.alone or n.alone as is_over from ${s}.nodes n
      where n.env = me.env and n.stack is not distinct from me.stack and n.incarnation <> me.incarnation
        and (me.alone or (n.stopped_at is null and (n.alone or (n.identity = me.identity and n.presence is not null))))
        and not ${isLive("at")}
    ), stopped as (
      -- A node that lives after all, and is or was alone, learns of this in its next round.
      update ${s}.nodes n set stopped_at = at
      from replaced r where n.incarnation = r.incarnation and r.is_over and n.stopped_at is null
    )
    select array(select r.incarnation from replaced r) into dead;
    -- A node that is missing is noted now and not with the first round: the grace of the dead begins here.
    with ${HERE}, missing as materialized (
      select n.incarnation from ${s}.nodes n
      where n.env = me.env and n.stopped_at is null and n.presence is not null and n.absent_since is null
        and n.incarnation <> me.incarnation and not ${isHere("n.presence")}
      for no key update skip locked
    )
    update ${s}.nodes n set absent_since = at from missing m where n.incarnation = m.incarnation;
    -- Most starts report what is stored: they write and lock no row. In the order of names, so that two starts do not deadlock.
    insert into ${s}.programs as p (env, name, kind, shape, input_schema, at)
    select me.env, t.name, t.kind, t.shape, t."inputSchema", register_node.at
    from json_to_recordset(programs) as t(name text, kind text, shape text, "inputSchema" text)
    where not exists (
      select from ${s}.programs o where o.env = me.env and o.name = t.name
        and (o.kind, o.shape, o.input_schema) is not distinct from (t.kind, t.shape, t."inputSchema")
    )
    order by t.name collate "C"
    on conflict on constraint programs_pkey do update
    set kind = excluded.kind, shape = excluded.shape, input_schema = excluded.input_schema, at = excluded.at;
  end if;
  return next;
end $$;
`;
