// Debounce: the last event of each subject in a row of its own, and one run per subject that takes it when all is quiet.

import type { Claim } from "../../kernel/claim.js";
import { type DebounceTicket, writeTicket } from "../../kernel/debounce-ticket.js";
import type { NewRun } from "../../kernel/new-run.js";
import { checkClaim } from "../check/commit.js";
import { checkDebounced } from "../check/subscription.js";
import { refuse } from "../check/value.js";
import { type DebounceAnswer, type NewDebounced, type SettleDebounced, UNSEEN_MS } from "../contract/events.js";
import type { Transaction } from "../contract/transaction.js";
import { oneOf } from "./batch.js";
import type { Database } from "./database.js";
import { type Dialect, statement } from "./dialect.js";
import { ENDED } from "./ended-states.js";
import type { Groups } from "./groups.js";
import type { Hints } from "./hints.js";
import {
  ASIDE,
  asideParts,
  columnsOf,
  intoRuns,
  limitedColumnsOf,
  type Places,
  RUN,
  RUN_COLUMNS,
} from "./insert-runs.js";
import { interval } from "./instant.js";
import { isolate } from "./isolate.js";

/** Of the subject: its env, subscription, name, and the ticket. */
const SUBJECT = ["text", "text", "text", "text"];
const ASKED = [...RUN, "bool", ...ASIDE, ...SUBJECT];
const ASKED_COLUMNS = `${RUN_COLUMNS}, limited, env, subscription, subject, ticket`;
const ASIDE_FROM = RUN.length + 2;
const SUBJECT_FROM = ASIDE_FROM + ASIDE.length;

/** Limits are as many as they are: they cannot stand in one unnest with the events. */
const asked = () => {
  const arrays = [
    ...Array.from({ length: RUN.length + 1 }, (_, i) => i + 1),
    ...SUBJECT.map((_, i) => SUBJECT_FROM + i),
  ];
  return `unnest(${arrays.map((n) => `(select $${n}::${ASKED[n - 1]}[])`).join(", ")}) as n(${ASKED_COLUMNS})`;
};

const intoJournal = ({ schema: s }: Dialect) => `
  insert into ${s}.journal (run_id, seq, epoch, kind, name, key, codec, data, at)
  select id, 1, 0, 'start', name, ticket, codec, data, t.now from new, t on conflict do nothing`;

const insertRest = (d: Dialect) => `r as (${intoRuns(d, "on conflict do nothing", true)}
)${asideParts(d, ASIDE_FROM)}, j as (${intoJournal(d)}
)`;

/**
 * Rows are taken in one order. Whoever takes an event away holds its row (settle_debounced): an event that comes meanwhile
 * waits for that, finds no row, and makes the next run. A run that is there already is a repeated call. A run that was
 * cancelled or died before it could begin gathers no more; one that cannot be seen was made since this statement began
 * (taken for dead, 40 emitters on a new subject made three runs).
 */
export const gatherEvents = statement(
  "gather_events",
  (d) => `
with t as materialized (select ${d.now} as now
), asked as materialized (
  select * from ${asked()} where (select r.id from ${d.schema}.runs r where r.id = n.id limit 1) is null
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

/** Only INSERTs: each event makes a run, and when they are claimed, the first one gathers the others. */
export const insertGathering = statement(
  "insert_gathering",
  (d) => `
with t as materialized (select ${d.now} as now
), new as materialized (select * from ${asked()}
), ${insertRest(d)}
select null`,
);

const FENCE = "r.id = $1 and r.epoch = $2 and r.token = $3::uuid and r.seq = $4";
const ROW = "(x.env, x.subscription, x.subject) = ((select env from mine), $5::text, $6::text)";

/**
 * The subject's row is locked first; what is judged is the row as it was locked. Taking the event and removing the row are one
 * statement with the fence: in two, an event that came between them would be lost. One that waits on does so as a delayed
 * start, which no message cuts short; with limits it parks instead, so that it gives its slots up.
 */
export const settleDebounced = statement("settle_debounced", (d) => {
  const { schema: s } = d;
  return `
with t as materialized (select ${d.now} as now
), mine as materialized (
  select r.id, r.created_at, g.env, j.codec, j.data
  from ${s}.runs r
  cross join lateral (select env from ${s}.claim_groups g where g.id = r.claim_group limit 1) g
  cross join lateral (select codec, data from ${s}.journal j where j.run_id = r.id and j.seq = r.base_seq + 1 limit 1) j
  where ${FENCE}
), d as materialized (
  select x.run_id, x.last_at, x.codec, x.data from ${s}.debounces x where ${ROW} for update
), f as materialized (
  select d.*, d.last_at + ${interval("$7::float8")} as quiet_at, case
    when d.run_id <> $1 then 'merged'
    when d.last_at + ${interval("$7::float8")} <= t.now then 'begins'
    else 'waits' end as outcome
  from d, t
), ok as (
  update ${s}.runs r
  set seq = r.seq + 1, token = null, owner = null, lease_until = null, crashes = 0,
      state = case when f.outcome = 'merged' then 'skipped' when f.outcome = 'waits' and r.limited then 'parked' else 'waiting' end,
      wake_at = case when f.outcome = 'waits' and r.limited then f.quiet_at end,
      available_at = case f.outcome when 'waits' then f.quiet_at else r.available_at end,
      generation = r.generation + (f.outcome = 'begins')::int,
      base_seq = case f.outcome when 'begins' then r.seq else r.base_seq end,
      failures = case f.outcome when 'begins' then 0 else r.failures end,
      ended_at = case f.outcome when 'merged' then t.now end
  from f, t
  where ${FENCE}
  returning r.id as run_id, r.seq, f.outcome, f.codec, f.data
), written as (
  insert into ${s}.journal (run_id, seq, epoch, token, kind, name, codec, data, at)
  select ok.run_id, ok.seq, $2, $3::uuid, case ok.outcome when 'begins' then 'start' when 'waits' then 'parked' else 'skipped' end,
    '', case ok.outcome when 'begins' then ok.codec when 'merged' then 'json' end,
    case ok.outcome when 'begins' then ok.data when 'merged' then '{"code":"DEBOUNCED"}' end, t.now
  from ok, t
), gone as (
  delete from ${s}.debounces x where ${ROW} and (select outcome from ok) = 'begins'
), handed as (
  update ${s}.debounces x set last_at = m.created_at, codec = m.codec, data = m.data
  from mine m where ${ROW} and (select outcome from ok) = 'merged' and x.last_at < m.created_at
), closed as (
  update ${s}.inbox i set taken_seq = 0
  where i.run_id = (select run_id from ok where outcome = 'merged') and i.taken_seq is null
)
select outcome from ok`;
});

/** The first to be claimed of those that were inserted in callers' transactions. */
const beginGathering = statement(
  "begin_gathering",
  ({ schema: s }) => `
insert into ${s}.debounces (env, subscription, subject, run_id, last_at, codec, data)
select g.env, $5::text, $6::text, r.id, r.created_at, j.codec, j.data
from ${s}.runs r
cross join lateral (select env from ${s}.claim_groups g where g.id = r.claim_group limit 1) g
cross join lateral (select codec, data from ${s}.journal j where j.run_id = r.id and j.seq = r.base_seq + 1 limit 1) j
where ${FENCE}
on conflict do nothing`,
);

/** Whether the claim is held, and what the very same call wrote before its reply was lost. */
const whyNotSettled = statement(
  "why_not_settled",
  ({ schema: s }) => `
select r.epoch = $2 and r.token = $3::uuid and r.seq = $4 as held,
  (select kind from ${s}.journal j where j.run_id = $1 and j.seq = $4 + 1 and j.epoch = $2 and j.token = $3::uuid) as kind
from ${s}.runs r where r.id = $1`,
);

const OUTCOMES = { start: "begins", parked: "waits", skipped: "merged" } as const;

export async function settle(
  db: Database,
  claim: Claim,
  expectedSeq: number,
  ticket: DebounceTicket,
): Promise<SettleDebounced> {
  refuse(checkClaim("claim", claim));
  const fence = [claim.runId, claim.epoch, claim.token, expectedSeq];
  const subject = [ticket.subscription, ticket.subject];
  for (;;) {
    const values = [...fence, ...subject, ticket.windowMs];
    const [row] = await db.run<SettleDebounced>(settleDebounced, values);
    if (row) return { outcome: row.outcome };
    const [why] = await db.run<{ held: boolean; kind: string | null }>(whyNotSettled, fence);
    const written = OUTCOMES[why?.kind as keyof typeof OUTCOMES];
    if (written) return { outcome: written };
    if (!why?.held) return { outcome: "lost" };
    await db.run(beginGathering, [...fence, ...subject]);
  }
}

/** The last of each subject goes; the others are answered with it. */
export async function debounce(
  db: Database,
  groups: Groups,
  hints: Hints,
  events: readonly NewDebounced[],
  tx?: Transaction,
): Promise<readonly DebounceAnswer[]> {
  const problems = events.map(checkDebounced);
  const good = events.filter((_, i) => !problems[i]);
  const last = [...new Map(good.map((event) => [textOf(event), event])).values()];
  const sent = tx
    ? await insertIn(db, groups, hints, last, tx)
    : await isolate(
        last,
        (batch) => gather(db, groups, batch),
        (_, error): DebounceAnswer => ({ outcome: "refused", error }),
      );
  const answers = new Map(last.map((event, i) => [textOf(event), sent[i]!]));
  return events.map((event, i): DebounceAnswer => {
    const error = problems[i];
    return error ? { outcome: "refused", error } : answers.get(textOf(event))!;
  });
}

async function gather(db: Database, groups: Groups, events: readonly NewDebounced[]): Promise<DebounceAnswer[]> {
  const rows = await db.run<{ env: string; subscription: string; subject: string; run_id: string }>(
    gatherEvents,
    columnsFor(groups, events, (event) => event.ticket.windowMs),
  );
  const gathers = new Map(rows.map((row) => [JSON.stringify([row.env, row.subscription, row.subject]), row.run_id]));
  const made = events.filter((event) => gathers.get(textOf(event)) === event.run.id);
  // Who sleeps until the next run is due should know of it.
  if (made.length > 0) db.onWork(await groups.ids(made.map(({ run }) => run.group)));
  // Not among the rows: a repeated call, whose run is there.
  return events.map((event) => ({ outcome: "gathered", runId: gathers.get(textOf(event)) ?? event.run.id }));
}

/** Claimable at once, so that they find each other before the window is over. */
async function insertIn(
  db: Database,
  groups: Groups,
  hints: Hints,
  events: readonly NewDebounced[],
  tx: Transaction,
): Promise<DebounceAnswer[]> {
  if (events.length === 0) return [];
  await db.run(
    insertGathering,
    columnsFor(groups, events, () => 0),
    { tx },
  );
  await hints.tellInTransaction(tx, await groups.ids(events.map(({ run }) => run.group)), true);
  return events.map(({ run }) => ({ outcome: "gathered", runId: run.id }));
}

export function columnsFor(groups: Groups, events: readonly NewDebounced[], delayMs: (event: NewDebounced) => number) {
  const runs: NewRun[] = events.map((event) => ({ ...event.run, delayMs: delayMs(event) }));
  return async () => {
    const ids = await groups.ids(runs.map((run) => run.group));
    const places: Places = new Map(runs.map((run, i) => [run, { group: ids[i]!, position: i }]));
    return [
      ...columnsOf(runs, places),
      ...limitedColumnsOf(runs),
      events.map(({ run }) => run.group.env),
      events.map(({ ticket }) => ticket.subscription),
      events.map(({ ticket }) => ticket.subject),
      events.map(({ ticket }) => writeTicket(ticket)),
    ];
  };
}

function textOf({ run, ticket }: NewDebounced): string {
  return JSON.stringify([run.group.env, ticket.subscription, ticket.subject]);
}
