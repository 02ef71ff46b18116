// Accepts events: finds their subscriptions and inserts the runs, in one statement. An event is sent once, however many runs it
// starts; what differs between them is computed where the subscriptions are.

import { eventRun, eventRunId } from "../../../kernel/run/event-run.js";
import { type EventToStart, isPlain, type Matched, type StartAnswer } from "../../contract/event/events.js";
import type { Behind, Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { DataRefused } from "../connection/errors.js";
import { interval } from "../connection/instant.js";
import { oneOf, rowset, text, uuid } from "../connection/rowset.js";
import { leaveWake, type WakeSender, wakeBehind } from "../connection/wake-sender.js";
import { type KeyedRun, keyHash } from "../key/run-keys.js";
import type { Groups } from "../run/groups.js";
import { insert } from "../run/insert-batch.js";
import { intoJournal, intoRuns, UNIQUE_VIOLATION } from "../run/insert-runs.js";
import { EVENT, groupOf, match, SUBSCRIPTION } from "./subscriptions.js";

const EVENTS = rowset<EventToStart>()({
  ...EVENT,
  id: uuid(({ id }) => id),
  key: text(({ key }) => key),
  payload_hash: text(({ payloadHash }) => payloadHash),
  codec: text(({ input }) => input.codec),
  data: text(({ input }) => input.data),
});
/** As eventRunId makes it. */
const RUN_ID =
  "(left(e.id::text, 24) || left(encode(sha256(convert_to(e.id::text || u.id, 'UTF8')), 'hex'), 12))::uuid";

/**
 * An event is skipped as a whole when one of its runs needs more than a row, or when one of its groups has no number yet. Keys are
 * inserted first and in order, as everywhere; a run is inserted with its key or not at all. Nothing of the batch is joined: `m`
 * carries what a run needs of its event.
 */
export const startEvents = statement(
  "start_events",
  "Matches events with subscriptions and inserts the runs they start.",
  (d) => {
    const { schema: s } = d;
    return `
with t as materialized (select ${d.now} as now
), e as materialized (
  select n.*, n.plain::jsonb as payload, n.ord::int - 1 as position
  from ${EVENTS.from(1).as("n", "ord")}
), m as materialized (
  select e.position, e.env, e.key, e.payload_hash, e.codec, e.data, x.*
  from e cross join lateral (
    select ${RUN_ID} as id, ${keyHash("e.env", "u.scope", "e.key")} as key_hash, u.id as subscription, u.scope, u.program as name,
      u.lifetime, u.key_ms, u.crash_limit, g.id as claim_group, 0 as priority, 0::float8 as delay_ms, null::uuid as parent_id, null::text as recovery,
      coalesce(u.debounce_ms is null and u.threshold is null and g.limits = '[]', false) as plain
    from ${s}.subscriptions u
    left join lateral (select g.id, g.limits from ${s}.claim_groups g where ${groupOf("g", "u")} limit 1) g on true
    where u.env = e.env and u.stack = e.stack and u.event = e.event
      and (u.filters = '{}' or exists (select from unnest(u.filters) as f(f) where e.payload @> f.f))
    offset 0
  ) x
), asked as materialized (
  select * from m where not ${oneOf("position", "select position from m where not plain")}
), k as (
  insert into ${s}.run_keys (hash, env, scope, key, run_id, payload_hash, lifetime, expires_at)
  select key_hash, env, scope, key, id, payload_hash, lifetime, t.now + ${interval("key_ms")} from asked, t
  order by key_hash, position
  on conflict do nothing
  returning run_id
), new as materialized (
  select * from asked where ${oneOf("id", "select run_id from k")}
), r as (${intoRuns(d, "", false, true)}
), j as (${intoJournal(d, "")}
), f as materialized (
  select env, subscription, array_agg(position) as places,
    array_agg(position) filter (where ${oneOf("id", "select run_id from k")}) as made
  from m group by env, subscription
)
select ${SUBSCRIPTION("u")}, f.places, f.made, coalesce(g.limits, '[]')::json as limits, g.id as claim_group,
  (select ${leaveWake("select claim_group from new")}) as hint
from f
cross join lateral (select * from ${s}.subscriptions u where u.env = f.env and u.id = f.subscription limit 1) u
left join lateral (select g.id, g.limits from ${s}.claim_groups g where ${groupOf("g", "u")} limit 1) g on true
order by u.id`;
  },
);

interface Row extends Matched {
  /** The places of the events it is for, and of those whose run was made. */
  places: number[];
  made: number[] | null;
  claim_group: number | null;
  hint: string;
}

/** What one event is for. */
interface Found {
  readonly matched: Matched[];
  /** Whose run was made by the statement. */
  readonly made: boolean[];
  /** A group of its subscriptions has no number yet: no run was created. */
  unnumbered: boolean;
}

export async function start(
  db: Database,
  groups: Groups,
  wakes: WakeSender,
  events: readonly EventToStart[],
): Promise<readonly StartAnswer[]> {
  const found = await find(db, wakes, events);
  const again = events.flatMap((_, i) => (found[i]!.unnumbered ? i : []));
  if (again.length > 0) {
    await groups.ids(again.flatMap((i) => found[i]!.matched.map((one) => eventRun(events[i]!, one).group)));
    const numbered = await find(
      db,
      wakes,
      again.map((i) => events[i]!),
    );
    for (const [k, i] of again.entries()) found[i] = numbered[k]!;
  }
  const others = events.flatMap((event, i): KeyedRun[] => {
    const { matched, made } = found[i]!;
    return matched.every(isPlain) ? matched.filter((_, k) => !made[k]).map((one) => eventRun(event, one)) : [];
  });
  const answers = others.length > 0 ? await insertOthers(db, groups, wakes, others) : new Map<string, Started>();
  return events.map((event, i): StartAnswer => {
    const { matched, made } = found[i]!;
    if (!matched.every(isPlain)) return { outcome: "left", matched };
    const runs = matched.map(({ id }, k): Started => {
      const runId = eventRunId(event.id, id);
      return made[k] ? { outcome: "inserted", runId } : answers.get(runId)!;
    });
    return { outcome: "started", matched, runs };
  });
}

type Started = Extract<StartAnswer, { outcome: "started" }>["runs"][number];

/** Keys that are taken: by another event, by the same event in a call whose answer was lost, or by a run that no longer needs its key. */
async function insertOthers(
  db: Database,
  groups: Groups,
  wakes: WakeSender,
  runs: readonly KeyedRun[],
): Promise<ReadonlyMap<string, Started>> {
  const answers = await insert(db, groups, runs);
  wakes.send(await groups.idsOf(runs, answers));
  return new Map(
    answers.map(({ outcome, runId }, i) => {
      return [runs[i]!.id, { outcome: outcome === "inserted" ? "inserted" : "existing", runId }];
    }),
  );
}

async function find(db: Database, wakes: WakeSender, events: readonly EventToStart[]): Promise<Found[]> {
  const found = events.map((): Found => ({ matched: [], made: [], unnumbered: false }));
  const behind = wakeBehind(db);
  const rows = await makeRuns(db, events, behind);
  if (!rows) {
    // Created by the same call before its answer was lost, and its key freed since: look for each run.
    for (const [i, matched] of (await match(db, events)).entries()) found[i]!.matched.push(...matched);
    return found;
  }
  for (const { places, made, claim_group, hint: _hint, ...one } of rows) {
    const isMade = new Set(made);
    for (const place of places) {
      const event = found[place]!;
      event.matched.push(one);
      event.made.push(isMade.has(place));
      event.unnumbered ||= claim_group === null;
    }
  }
  if (!behind) wakes.send(rows.flatMap(({ made, claim_group }) => (made && claim_group !== null ? claim_group : [])));
  return found;
}

async function makeRuns(db: Database, events: readonly EventToStart[], behind: Behind | null): Promise<Row[] | null> {
  try {
    return await db.run<Row>(startEvents, EVENTS.arrays(events), { behind });
  } catch (error) {
    if (error instanceof DataRefused && error.sqlState === UNIQUE_VIOLATION) return null;
    throw error;
  }
}
