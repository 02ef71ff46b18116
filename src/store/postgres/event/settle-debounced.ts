// Decides what a claimed run that gathers events does: start with the last event, keep waiting, or merge into another run.

import type { Claim } from "../../../kernel/run/claim.js";
import type { DebounceTicket } from "../../../kernel/run/debounce-ticket.js";
import type { SettleDebounced } from "../../contract/event/events.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";

const FENCE = "r.id = $1 and r.epoch = $2 and r.token = $3::uuid and r.seq = $4";
const ROW = "(x.env, x.subscription, x.subject) = ((select env from mine), $5::text, $6::text)";

/**
 * The subject's row is locked first, and the locked row decides. Taking the event and removing the row are one statement with the
 * fence: in two, an event that arrives between them would be lost. A run that waits longer does so as a delayed start, which no
 * message cuts short; with limits it parks instead, so that it releases its slots.
 */
export const settleDebounced = statement(
  "settle_debounced",
  "Decides what a claimed run that gathers events does: begin, wait or merge.",
  (d) => {
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
  },
);

/** The first to be claimed of those that were inserted in callers' transactions. */
const beginGathering = statement(
  "begin_gathering",
  "Stores the event of a gathering run that was inserted in a caller's transaction.",
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
  "Finds out why a gathering run was not settled.",
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
