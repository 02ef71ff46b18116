// Steps of state machines as SQL. The instance's row comes first, at the sequence that was read; everything else is written only
// for the rows that were written: events, timers and effects of a step are there together or not at all. (With the timer's row
// first, sends and fires of 20 instances deadlocked 52 times in 5 s.)

import type { Append } from "../../contract/machine/machines.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { bigint, type HasColumns, oneOf, rowset, uuid } from "../connection/rowset.js";
import { intoJournal, intoRuns } from "../run/insert-runs.js";
import { APPENDED, CREATED, EFFECTS, EVENT_KEYS, EVENTS, SENT, TIMER_FENCES, TIMERS } from "./machine-columns.js";

/** The parameters that follow those of the instances themselves. */
function changesFrom(first: number) {
  const events = EVENTS.from(first);
  const timers = TIMERS.from(events.next);
  const sent = SENT.from(timers.next);
  return { events, timers, sent, effects: EFFECTS.from(sent.next) };
}

const create = (() => {
  const instances = CREATED.from(1);
  return { instances, ...changesFrom(instances.next) };
})();

const append = (() => {
  const instances = APPENDED.from(1);
  const changes = changesFrom(instances.next);
  const fired = TIMER_FENCES.from(changes.effects.next);
  return { instances, ...changes, fired, removed: TIMER_FENCES.from(fired.next) };
})();

interface ChangeParameters extends ReturnType<typeof changesFrom> {
  readonly instances: HasColumns<"key" | "claim_group" | "token" | "base">;
}

const RESET = `(id) do update set instance = excluded.instance, claim_group = excluded.claim_group, generation = excluded.generation,
    kind = excluded.kind, name = excluded.name, codec = excluded.codec, data = excluded.data, due_at = excluded.due_at, try_at = excluded.try_at,
    claimed_until = null, attempts = 0, state = 'pending', problem = null`;

/**
 * A sent event waits among its instance's timers, in the group of the instance and not of the sender. `replace`: sent again, it
 * starts from its new time.
 */
export const intoSent = ({ schema: s }: Dialect, sent: SentParameters, only: string, replace: boolean) => `
  insert into ${s}.timers (id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at)
  select x.id, x.instance, coalesce((select i.claim_group from ${s}.instances i where i.key = x.instance limit 1), x.claim_group),
    x.generation, 'sent', x.name, x.codec, x.data,
    t.now + ${interval("x.delay_ms + (x.position - 1) * 0.001")}, t.now + ${interval("x.delay_ms + (x.position - 1) * 0.001")}
  from ${sent.as("x", "position")}, t
  where ${only}
  on conflict ${replace ? RESET : "do nothing"}`;

type SentParameters = ReturnType<typeof SENT.from>;

/** Of the changes whose rows are in `ok`. `replace`: a timer that is set again starts from its new time. */
function changeParts(d: Dialect, parameters: ChangeParameters, replace: boolean): string {
  const { schema: s } = d;
  const { instances, events, timers, sent, effects } = parameters;
  const keyOf = (ord: string) => instances.at("key", ord);
  const written = (ord: string) => oneOf(keyOf(ord), "select key from ok");
  const due = `t.now + ${interval("x.delay_ms + (x.position - 1) * 0.001")}`;
  return `events as (
  insert into ${s}.instance_events (instance, seq, token, kind, name, key, codec, data, by, at)
  select ${keyOf("e.ord")}, ${instances.at("base", "e.ord")} + e.i, ${instances.at("token", "e.ord")}, e.kind, e.name, e.key, e.codec, e.data, e.by, t.now
  from ${events.as("e")}, t
  where ${written("e.ord")}
), timers as (
  insert into ${s}.timers (id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at)
  select x.id, ${keyOf("x.ord")}, ${instances.at("claim_group", "x.ord")}, x.generation, x.kind, x.name, x.codec, x.data, ${due}, ${due}
  from ${timers.as("x", "position")}, t
  where ${written("x.ord")}
  on conflict ${replace ? RESET : "do nothing"}
), sent as (${intoSent(d, sent, written("x.ord"), replace)}
), new as materialized (
  select * from ${effects.as("n")} where ${written("n.ord")}
), r as (${intoRuns(d, "on conflict do nothing", false)}
), j as (${intoJournal(d, "on conflict do nothing")}
)`;
}

/** In a caller's transaction, too: INSERTs only. */
export const createInstances = statement(
  "create_instances",
  "Creates instances of state machines with their first events, timers and effects.",
  (d) => `
with t as materialized (select ${d.now} as now
), ok as (
  insert into ${d.schema}.instances (key, claim_group, seq, snapshot_seq, id, input_hash, redact, status, version, value, codec, data,
    created_at, updated_at, ended_at)
  select c.key, c.claim_group, c.n, c.n, c.id, c.input_hash, c.redact, c.status, c.version, c.value, c.codec, c.data,
    t.now, t.now, case when c.status <> 'active' then t.now end
  from ${create.instances.as("c")}, t
  order by c.key
  on conflict do nothing
  returning key
), ${changeParts(d, create, false)}
select key from ok`,
);

/** A call whose answer may have been lost: its instance, and its token. */
export const TRIED = rowset<{ readonly key: string; readonly token: string }>()({
  key: uuid(({ key }) => key),
  token: uuid(({ token }) => token),
});

/** Why instances were not created: which instance has the id. `mine`: the same call created it before. */
export const whoseInstances = statement(
  "whose_instances",
  "Finds out which calls created instances that exist already.",
  ({ schema: s }) => `
select i.input_hash, e.token = w.token as mine
from ${TRIED.from(1).as("w", "ord")}
left join lateral (select input_hash from ${s}.instances i where i.key = w.key limit 1) i on true
left join lateral (select token from ${s}.instance_events e where e.instance = w.key and e.seq = 1 limit 1) e on true
order by w.ord`,
);

/** Rows (ord) of appends with a timer that is not there in this generation, or an event whose key is taken. */
const unfit = ({ schema: s }: Dialect) => `
  select f.ord from ${append.fired.as("f")}
  where (select x.id from ${s}.timers x where x.id = f.id and x.generation = f.generation limit 1) is null
  union all
  select e.ord from ${append.events.as("e")}
  where e.key is not null
    and (select v.seq from ${s}.instance_events v where v.instance = ${append.instances.at("key", "e.ord")} and v.key = e.key limit 1) is not null`;

/**
 * Rows that others have locked are skipped (busy), never waited for. That a fired timer is there is judged by the statement's
 * snapshot, and the sequence by the locked row: a timer goes only together with a new sequence, so both are true at once. A told
 * event may be replaced by its sender meanwhile: what is removed is of the generation that was applied.
 */
export const appendInstances = statement(
  "append_instances",
  "Appends steps to instances, with their timers and effects.",
  (d) => `
with t as materialized (select ${d.now} as now
), a as materialized (
  select a.* from ${append.instances.as("a", "ord")}
  join ${d.schema}.instances i on i.key = a.key
  for no key update of i skip locked
), ok as (
  update ${d.schema}.instances i
  set seq = a.base + a.n, status = a.status, version = a.version, value = a.value,
      codec = coalesce(a.codec, i.codec), data = coalesce(a.data, i.data),
      snapshot_seq = case when a.codec is null then i.snapshot_seq else a.base + a.n end,
      updated_at = t.now, ended_at = case when a.status <> 'active' then t.now end, problem = null
  from a, t
  where i.key = a.key and i.seq = a.base and i.status = 'active'
    and not ${oneOf("a.ord", `select ord from (${unfit(d)}) u`)}
  returning i.key, a.ord, i.seq, i.status <> 'active' as ends
), cancelled as (
  delete from ${d.schema}.timers x using ${append.removed.as("c")}
  where x.id = c.id and x.generation = coalesce(c.generation, x.generation)
    and ${oneOf(append.instances.at("key", "c.ord"), "select key from ok")}
), over as (
  delete from ${d.schema}.timers x using ok
  where ok.ends and x.instance = ok.key and x.kind <> 'sent'
), ${changeParts(d, append, true)}
select ord::int, seq from ok`,
);

export const REFUSED = rowset<Append>()({
  key: uuid(({ key }) => key),
  token: uuid(({ token }) => token),
  seq: bigint(({ expectedSeq }) => expectedSeq),
});

/** Why an append was not accepted; asked for refused ones only. */
export const refusedAppends = statement(
  "refused_appends",
  "Finds out why appends were not accepted.",
  ({ schema: s }) => `
select i.seq, i.status, coalesce(e.token = w.token, false) as recorded
from ${REFUSED.from(1).as("w", "ord")}
left join lateral (select seq, status from ${s}.instances i where i.key = w.key limit 1) i on true
left join lateral (select token from ${s}.instance_events e where e.instance = w.key and e.seq = w.seq + 1 limit 1) e on true
order by w.ord`,
);

/** Which of these keys were accepted, and which of these timers do not exist: queried when the sequence is as expected. */
export const unfitParts = statement(
  "unfit_parts",
  "Finds out which event keys of appends are taken and which timers are missing.",
  ({ schema: s }) => `
select 'taken' as what, w.ord::int, w.key from ${EVENT_KEYS.from(1).as("w")}
where (select e.seq from ${s}.instance_events e where e.instance = w.instance and e.key = w.key limit 1) is not null
union all
select 'gone', f.ord::int, null from ${TIMER_FENCES.from(EVENT_KEYS.from(1).next).as("f")}
where (select x.id from ${s}.timers x where x.id = f.id and x.generation = f.generation limit 1) is null`,
);
