// Updates the subscriptions to match the code of the nodes, and finds those that an event matches.

import {
  type Declaration,
  type EventToMatch,
  FORGOTTEN_AFTER_MS,
  type Matched,
  type Subscription,
} from "../../contract/event/events.js";
import { DEFAULT_HEARTBEAT_MS, MISSED_HEARTBEATS } from "../../contract/node/presence.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { type Columns, float8, int, rowset, text } from "../connection/rowset.js";

const DECLARED = rowset<Subscription>()({
  id: text(({ id }) => id),
  scope: text(({ scope }) => scope),
  stack: text(({ stack }) => stack ?? ""),
  event: text(({ event }) => event),
  program: text(({ program }) => program),
  queue: text(({ queue }) => queue),
  version: text(({ version }) => version ?? ""),
  filters: text(({ where }) => JSON.stringify(where)),
  subject: text(({ subject }) => (subject === null ? null : JSON.stringify(subject))),
  debounce_ms: float8(({ debounceMs }) => debounceMs),
  lifetime: text(({ lifetime }) => (typeof lifetime === "object" ? "timed" : lifetime)),
  key_ms: float8(({ lifetime }) => (typeof lifetime === "object" ? lifetime.forMs : null)),
  crash_limit: int(({ crashLimit }) => crashLimit),
  threshold: int(({ breaker }) => breaker?.threshold ?? null),
  half_open_ms: float8(({ breaker }) => breaker?.halfOpenMs ?? null),
});
const declared = DECLARED.from(4);
const COLUMNS = declared.names;

export const EVENT = {
  env: text(({ env }) => env),
  stack: text(({ stack }) => stack ?? ""),
  event: text(({ event }) => event),
  plain: text(({ plain }) => plain),
} satisfies Columns<EventToMatch>;
const EVENTS = rowset<EventToMatch>()(EVENT);

const CHANGED = COLUMNS.split(", ")
  .filter((name) => name !== "id")
  .map((name) => `${name} = excluded.${name}`);

/**
 * Rows that say so already are left alone: nodes that start together do not wait for each other. `$3`: a node that starts
 * has the newest code. Later it only restores missing rows: while two versions of the code run, each would undo the other.
 */
const declareSubscriptions = statement(
  "declare_subscriptions",
  "Declares the subscriptions of a node.",
  ({ schema: s }) => `
with new as materialized (
  select n.id, n.scope, n.stack, n.event, n.program, n.queue, n.version,
    array(select f from jsonb_array_elements(n.filters::jsonb) with ordinality as f(f, ord) order by ord) as filters,
    n.subject, n.debounce_ms, n.lifetime, n.key_ms, n.crash_limit, n.threshold, n.half_open_ms
  from ${declared.as("n")}
), written as (
  insert into ${s}.subscriptions as s (env, ${COLUMNS}) select $1, ${COLUMNS} from new order by id
  on conflict (env, id) do update set ${CHANGED.join(", ")}
  where $3 and row(s.*) is distinct from row(excluded.*)
)
insert into ${s}.subscribers (env, subscription, incarnation) select $1, id, $2::uuid from new order by id
on conflict do nothing`,
);

const withdrawSubscriptions = statement(
  "withdraw_subscriptions",
  "Withdraws subscriptions that a node no longer has.",
  ({ schema: s }) => `
delete from ${s}.subscribers where env = $1 and incarnation = $2::uuid and subscription = any($3::text[])`,
);

const heardWithin = (now: string, ms: string) => `n.seen_at >= ${now} - ${interval(ms)}`;

/**
 * Removes what a node declared before its programs changed and no longer declares. A separate statement, before the one that
 * retires: in one, two nodes that drop the same subscription at the same moment would each still see the other's declaration.
 */
const dropSubscriptions = statement(
  "drop_subscriptions",
  "Withdraws what an earlier start of a node declared and this one does not.",
  ({ schema: s }) => `
delete from ${s}.subscribers where env = $1 and incarnation = $2::uuid and subscription <> all($3::text[])`,
);

/**
 * No node declares it, and a live node has its program and has made its declaration: its code was changed. (Without the last
 * condition, a node that stopped while another was about to declare removed what both declare.) A subscriber whose node is gone
 * is removed; if that node returns, it declares its subscriptions again. The calling node counts as live, whatever its heartbeat
 * shows: with heartbeats every 20 ms, a node that had just started counted its own subscription as a dead node's. One that is
 * leaving ($3) does not count, although a failover may have lost that it is stopping.
 */
const retireSubscriptions = statement(
  "retire_subscriptions",
  "Removes subscriptions that no node declares any more.",
  ({ schema: s, now }) => `
with marked as (
  update ${s}.nodes n set declares = not $3::bool where n.incarnation = $2::uuid and n.declares = $3::bool
), known as materialized (
  select n.incarnation, n.serves, n.declares or n.incarnation = $2::uuid as declares,
    n.incarnation = $2::uuid or ${heardWithin(now, `${MISSED_HEARTBEATS} * coalesce(n.heartbeat_ms, ${DEFAULT_HEARTBEAT_MS})`)} as alive
  from ${s}.nodes n
  where n.env = $1 and n.stopped_at is null
    and case when n.incarnation = $2::uuid then not $3::bool else ${heardWithin(now, String(FORGOTTEN_AFTER_MS))} end
), served as materialized (
  select distinct c.stack, c.program from known k, unnest(k.serves) as g(id) join ${s}.claim_groups c on c.id = g.id
  where k.alive and k.declares
), gone as (
  delete from ${s}.subscribers b where b.env = $1 and b.incarnation not in (select incarnation from known)
), undeclared as materialized (
  select u.id from ${s}.subscriptions u
  where u.env = $1 and (u.stack, u.program) in (select stack, program from served)
    and not exists (
      select from ${s}.subscribers b join known k on k.incarnation = b.incarnation
      where b.env = u.env and b.subscription = u.id
    )
  order by u.id for update skip locked
)
delete from ${s}.subscriptions u using undeclared x where u.env = $1 and u.id = x.id returning u.id`,
);

/** The fields of a subscription. */
export const SUBSCRIPTION = (
  u: string,
) => `${u}.id, ${u}.scope, ${u}.env, nullif(${u}.stack, '') as stack, ${u}.event, ${u}.program, ${u}.queue,
  nullif(${u}.version, '') as version, ${u}.filters as "where", ${u}.subject::json, ${u}.debounce_ms as "debounceMs",
  case ${u}.lifetime when 'timed' then json_build_object('forMs', coalesce(${u}.key_ms, 0)) else to_json(${u}.lifetime) end as lifetime,
  ${u}.crash_limit as "crashLimit",
  case when ${u}.threshold is not null then json_build_object('threshold', ${u}.threshold, 'halfOpenMs', coalesce(${u}.half_open_ms, 0)) end as breaker`;

const listSubscriptions = statement(
  "list_subscriptions",
  "Lists the subscriptions of an env.",
  ({ schema: s }) => `select ${SUBSCRIPTION("u")} from ${s}.subscriptions u where u.env = $1 order by u.id`,
);

/** The claim group of a subscription's runs. */
export const groupOf = (g: string, u: string) =>
  `(${g}.env, ${g}.stack, ${g}.queue, ${g}.program, ${g}.version) = (${u}.env, ${u}.stack, ${u}.queue, ${u}.program, ${u}.version)`;

/**
 * One row per subscription with the events it is for, whatever the size of the batch. The payload is parsed once per event
 * (MATERIALIZED), not once per subscription.
 */
export const matchEvents = statement(
  "match_events",
  "Finds the subscriptions that events are for.",
  ({ schema: s }) => `
with e as materialized (
  select env, stack, event, plain::jsonb as payload, ord::int
  from ${EVENTS.from(1).as("e", "ord")}
), m as materialized (
  select e.env, x.id, array_agg(e.ord order by e.ord) as ords
  from e cross join lateral (
    select u.id from ${s}.subscriptions u
    where u.env = e.env and u.stack = e.stack and u.event = e.event
      and (u.filters = '{}' or exists (select from unnest(u.filters) as f(f) where e.payload @> f.f))
    offset 0
  ) x
  group by e.env, x.id
)
select ${SUBSCRIPTION("u")}, m.ords, coalesce(g.limits, '[]')::json as limits
from m
cross join lateral (select * from ${s}.subscriptions u where u.env = m.env and u.id = m.id limit 1) u
left join lateral (
  select limits from ${s}.claim_groups g where ${groupOf("g", "u")} limit 1
) g on true
order by u.id`,
);

export async function subscribe(db: Database, declaration: Declaration): Promise<number> {
  const { env, incarnation, subscriptions, withdrawn = [], leaving = false, starting } = declaration;
  if (withdrawn.length > 0) await db.run(withdrawSubscriptions, [env, incarnation, withdrawn]);
  if (subscriptions.length > 0) {
    await db.run(declareSubscriptions, [env, incarnation, starting, ...DECLARED.arrays(subscriptions)]);
  }
  const said = subscriptions.map(({ id }) => id);
  if (starting) await db.run(dropSubscriptions, [env, incarnation, said]);
  return (await db.run(retireSubscriptions, [env, incarnation, leaving])).length;
}

export async function list(db: Database, env: string): Promise<readonly Subscription[]> {
  return db.run<Subscription>(listSubscriptions, [env]);
}

export async function match(
  db: Database,
  events: readonly EventToMatch[],
  tx?: Transaction,
): Promise<readonly (readonly Matched[])[]> {
  if (events.length === 0) return [];
  const found: Matched[][] = events.map(() => []);
  const rows = await db.run<Matched & { readonly ords: number[] }>(matchEvents, EVENTS.arrays(events), { tx });
  for (const { ords, ...one } of rows) {
    for (const ord of ords) found[ord - 1]!.push(one);
  }
  return found;
}
