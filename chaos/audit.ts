// Separate eyes in the database: triggers that write down every move of a run, with the claim it had before.

import type { Database } from "./database.js";

/** The class of presence locks, as `attend` takes them; a change there must be seen here. */
const PRESENCE_CLASS = 0x686f6c64;

/**
 * `moves` has one row per insert of a run, and per change that is more than a renewal. A journal entry and the move it came with stand in
 * one transaction, so the entry's xmin tells which claim the row had when the entry was accepted.
 *
 * `reclaimed`: taken from a holder without a word in the journal. `owner_here`: the holder's presence was there then. A
 * lock whose connection has done something since the statement began does not count: when the statement looked, it may not have been
 * there, although the connection was.
 * `heard_at`: the last renewal or heartbeat of the holder. `looked_at`: when the statement began.
 */
const AUDIT = `
create schema chaos;
create table chaos.effects (
  run_id uuid not null, step text not null, key text not null, epoch bigint not null, attempt int not null,
  pid int not null, idempotency_key text not null, at timestamptz not null default clock_timestamp()
);
create table chaos.moves (
  n bigserial primary key, tx xid8 not null default pg_current_xact_id(), at timestamptz not null default clock_timestamp(),
  run_id uuid not null, old_state text not null, new_state text not null, old_epoch bigint not null, new_epoch bigint not null,
  old_token uuid, new_token uuid, old_owner uuid, new_owner uuid, old_lease timestamptz,
  reclaimed boolean not null, owner_here boolean not null, heard_at timestamptz, looked_at timestamptz not null default now()
);
create function chaos.note_move() returns trigger language plpgsql as $$
declare
  taken boolean := old.state = 'running' and new.token is null and new.seq = old.seq;
  here boolean := false;
  heard timestamptz;
begin
  if taken then
    here := exists (
      select from holdfast.nodes n
      join pg_locks l on l.locktype = 'advisory' and l.classid = ${PRESENCE_CLASS} and l.objid = n.presence and l.granted
      join pg_stat_activity a on a.pid = l.pid and a.state_change < now()
      where n.incarnation = old.owner and coalesce((to_jsonb(n) ->> 'absent_since')::timestamptz, now()) > now() - interval '1 second');
    heard := (select greatest(n.seen_at, old.lease_until - n.lease_ms * interval '1 ms')
      from holdfast.nodes n where n.incarnation = old.owner);
  end if;
  insert into chaos.moves (run_id, old_state, new_state, old_epoch, new_epoch, old_token, new_token, old_owner, new_owner,
    old_lease, reclaimed, owner_here, heard_at)
  values (new.id, old.state, new.state, old.epoch, new.epoch, old.token, new.token, old.owner, new.owner,
    old.lease_until, taken, here, heard);
  return null;
end $$;
create function chaos.note_insert() returns trigger language plpgsql as $$
begin
  insert into chaos.moves (run_id, old_state, new_state, old_epoch, new_epoch, reclaimed, owner_here)
  values (new.id, 'none', new.state, new.epoch, new.epoch, false, false);
  return null;
end $$;
create trigger note_insert after insert on holdfast.runs for each row execute function chaos.note_insert();
create trigger note_move after update on holdfast.runs for each row
  when (old.token is distinct from new.token or old.epoch <> new.epoch or old.seq <> new.seq or old.state <> new.state)
  execute function chaos.note_move();
`;

export async function installAudit(database: Database): Promise<void> {
  await database.query(AUDIT);
}
