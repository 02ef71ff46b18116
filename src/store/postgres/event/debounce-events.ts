// Debounces events: stores the last event of each subject in a row, and one run per subject that takes it when the subject is quiet.

import { type DebounceTicket, writeTicket } from "../../../kernel/run/debounce-ticket.js";
import type { NewRun } from "../../../kernel/run/new-run.js";
import {
  type AcceptAnswer,
  type DebounceAnswer,
  type EventRuns,
  type NewDebounced,
  UNSEEN_MS,
} from "../../contract/event/events.js";
import type { InsertAnswer } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { oneOf, rowset, text } from "../connection/rowset.js";
import type { WakeSender } from "../connection/wake-sender.js";
import { admitAfter } from "../limit/admit-runs.js";
import { isLimited } from "../limit/limit-columns.js";
import { ENDED } from "../run/ended-states.js";
import type { Groups } from "../run/groups.js";
import { insert } from "../run/insert-batch.js";
import { intoRuns, type PlacedRun, place, RUN } from "../run/insert-runs.js";
import { LIMITED, limitColumnsOf, limitParts } from "../run/limited-runs.js";

const GATHERING_RUNS = rowset<PlacedRun & { readonly ticket: DebounceTicket }>()({
  ...RUN,
  ...LIMITED,
  env: text(({ run }) => run.group.env),
  subscription: text(({ ticket }) => ticket.subscription),
  subject: text(({ ticket }) => ticket.subject),
  ticket: text(({ ticket }) => writeTicket(ticket)),
});
const ASKED = GATHERING_RUNS.from(1);

const intoJournal = ({ schema: s }: Dialect) => `
  insert into ${s}.journal (run_id, seq, epoch, kind, name, key, codec, data, at)
  select id, 1, 0, 'start', name, ticket, codec, data, t.now from new, t on conflict do nothing`;

const insertRest = (d: Dialect) => `r as (${intoRuns(d, "on conflict do nothing", true)}
)${limitParts(d, ASKED)}, j as (${intoJournal(d)}
)`;

/**
 * Rows are locked in one order. The statement that takes an event locks its row (settle_debounced): an event that arrives meanwhile
 * waits for it, finds no row, and creates the next run. An existing run means a repeated call. A run that was cancelled or died
 * before it could begin no longer gathers; one that is not visible was created since this statement began (counted as dead, 40
 * emitters on a new subject created three runs).
 */
export const gatherEvents = statement(
  "gather_events",
  "Stores debounced events and inserts one run for each new subject.",
  (d) => `
with t as materialized (select ${d.now} as now
), asked as materialized (
  select * from ${ASKED.as("n")} where (select r.id from ${d.schema}.runs r where r.id = n.id limit 1) is null
), g as (
  insert into ${d.schema}.debounces as d (env, subscription, subject, run_id, last_at, codec, data)
  select env, subscription, subject, id, t.now, codec, data from asked, t order by env, subscription, subject
  on conflict (env, subscription, subject) do update
  set last_at = excluded.last_at, codec = excluded.codec, data = excluded.data,
      run_id = case when coalesce((select r.state in ${ENDED} from ${d.schema}.runs r where r.id = d.run_id),
          d.last_at <= excluded.last_at - ${interval(String(UNSEEN_MS))}) then excluded.run_id else d.run_id end
  returning env, subscription, subject, run_id
), new as materialized (
  select * from asked where ${oneOf("id", "select run_id from g")}
), ${insertRest(d)}
select env, subscription, subject, run_id from g`,
);

/** Only INSERTs: each event creates a run, and when they are claimed, the first one gathers the others. */
export const insertGathering = statement(
  "insert_gathering",
  "Inserts one run for each debounced event, in the caller's transaction.",
  (d) => `
with t as materialized (select ${d.now} as now
), new as materialized (select * from ${ASKED.as("n")}
), ${insertRest(d)}
select null`,
);

interface StoreParts {
  readonly db: Database;
  readonly groups: Groups;
  readonly wakes: WakeSender;
}

/** Only the last event of each subject is sent; the others get its answer. */
export async function debounce(
  { db, groups, wakes }: StoreParts,
  events: readonly NewDebounced[],
  tx?: Transaction,
): Promise<readonly DebounceAnswer[]> {
  const last = lastOfEach(events);
  if (tx) await insertIn({ db, groups, wakes }, last, tx);
  const gathers = tx
    ? new Map(last.map((event) => [textOf(event), event.run.id]))
    : await gather(db, groups, last, (values) => db.run<Row>(gatherEvents, values));
  return events.map((event) => ({ outcome: "gathered", runId: gathers.get(textOf(event))! }));
}

/** Whole or not at all: with runs, in a transaction. All callers take keys first and subjects then. */
export async function accept(
  db: Database,
  groups: Groups,
  events: readonly EventRuns[],
): Promise<readonly AcceptAnswer[]> {
  const runs = events.flatMap((event) => event.runs);
  const last = lastOfEach(events.flatMap(({ debounced }) => debounced));
  let inserted: readonly InsertAnswer[] = [];
  const gathers = await gather(db, groups, last, (values) => {
    if (runs.length === 0) return db.run<Row>(gatherEvents, values);
    return db.repeatedly("gather_events", async (tx) => {
      inserted = await insert(db, groups, runs, { tx });
      return db.run<Row>(gatherEvents, values, { tx });
    });
  });
  const held = runs.filter((run, i) => inserted[i]!.outcome === "inserted" && isLimited(run));
  await admitAfter(db, [...new Set(held.map(({ id }) => id))]);
  if (runs.length > 0) db.onWork([...(await groups.idsOf(runs, inserted))]);
  let next = 0;
  return events.map((event) => ({
    outcome: "accepted",
    runs: event.runs.map(() => inserted[next++]!),
    debounced: event.debounced.map((one) => ({ outcome: "gathered", runId: gathers.get(textOf(one))! })),
  }));
}

function lastOfEach(events: readonly NewDebounced[]): NewDebounced[] {
  return [...new Map(events.map((event) => [textOf(event), event])).values()];
}

type Row = { env: string; subscription: string; subject: string; run_id: string };

/** Returns by subject which run gathers for it. */
async function gather(
  db: Database,
  groups: Groups,
  events: readonly NewDebounced[],
  send: (values: () => Promise<unknown[]>) => Promise<readonly Row[]>,
): Promise<ReadonlyMap<string, string>> {
  const rows = await send(columnsFor(groups, events, (event) => event.ticket.windowMs));
  const gathers = new Map(rows.map((row) => [JSON.stringify([row.env, row.subscription, row.subject]), row.run_id]));
  const made = events.filter((event) => gathers.get(textOf(event)) === event.run.id);
  // A node that sleeps until the next run is due has to know of it.
  if (made.length > 0) db.onWork(await groups.ids(made.map(({ run }) => run.group)));
  // Not among the rows: a repeated call, whose run is there.
  return new Map(events.map((event) => [textOf(event), gathers.get(textOf(event)) ?? event.run.id]));
}

/** Claimable at once, so that they find each other before the window has passed. */
async function insertIn(
  { db, groups, wakes }: StoreParts,
  events: readonly NewDebounced[],
  tx: Transaction,
): Promise<void> {
  if (events.length === 0) return;
  await db.run(
    insertGathering,
    columnsFor(groups, events, () => 0),
    { tx },
  );
  await wakes.sendInTransaction(tx, await groups.ids(events.map(({ run }) => run.group)), true);
}

export function columnsFor(groups: Groups, events: readonly NewDebounced[], delayMs: (event: NewDebounced) => number) {
  const runs: NewRun[] = events.map((event) => ({ ...event.run, delayMs: delayMs(event) }));
  return async () => {
    const placed = await place(groups, runs);
    const rows = placed.map((one, i) => ({ ...one, ticket: events[i]!.ticket }));
    return [...GATHERING_RUNS.arrays(rows), ...limitColumnsOf(runs)];
  };
}

function textOf({ run, ticket }: NewDebounced): string {
  return JSON.stringify([run.group.env, ticket.subscription, ticket.subject]);
}
