// Reads runs: one, a page of them, or how many there are in each state.

import { isUuid } from "../../kernel/id.js";
import { RUN_STATES, type RunState } from "../../kernel/run-state.js";
import { checkFilter, checkPage } from "../check/filter.js";
import { refuse } from "../check/value.js";
import type { RunFilter, RunPage, RunRecord } from "../contract/runs.js";
import type { Database } from "./database.js";
import { statement } from "./dialect.js";
import { ms } from "./instant.js";
import { SHELVES, shelf } from "./shelf.js";

const COLUMNS = `r.id, g.env, g.stack, g.queue, g.program, g.version, r.state, r.priority,
  ${ms("r.available_at")} as available_at, ${ms("r.wake_at")} as wake_at, r.epoch, r.owner,
  ${ms("r.lease_until")} as lease_until, r.seq, r.base_seq, r.generation, r.inbox_seq, r.failures, r.crashes,
  r.crash_limit, r.parent_id, r.pending, k.recovered_from, k.recoveries,
  ${ms("r.created_at")} as created_at, ${ms("r.ended_at")} as ended_at, ${ms("r.archived_at")} as archived_at, f.deferred`;

const FROM = (s: string) => `${s}.runs r join ${s}.claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object('by', f.by, 'expiresAt', ${ms("f.expires_at")}, 'takenBy', f.taken_by, 'takenAt', ${ms("f.taken_at")})
    as deferred
  from ${s}.deferred_runs f where f.run_id = r.id limit 1
) f on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as recovered_from
  from ${s}.taken_claims k where k.run_id = r.id
) k`;

const getRun = statement(
  "get_run",
  ({ schema: s }) => `
select ${COLUMNS} from ${FROM(s)} where r.id = $1`,
);

interface Row {
  id: string;
  env: string;
  stack: string;
  queue: string;
  program: string;
  version: string;
  state: RunState;
  priority: number;
  available_at: number;
  wake_at: number | null;
  epoch: string;
  owner: string | null;
  lease_until: number | null;
  seq: string;
  base_seq: string;
  generation: number;
  inbox_seq: string;
  failures: number;
  crashes: number;
  crash_limit: number;
  parent_id: string | null;
  recovered_from: string | null;
  recoveries: number;
  pending: number;
  created_at: number;
  ended_at: number | null;
  archived_at: number | null;
  deferred: RunRecord["deferred"];
}

export async function get(db: Database, runId: string): Promise<RunRecord | null> {
  if (!isUuid(runId)) return null;
  const [row] = await db.run<Row>(getRun, [runId]);
  return row ? recordOf(row) : null;
}

export async function list(
  db: Database,
  filter: RunFilter,
  page: { limit: number; before?: string },
): Promise<RunPage> {
  refuse(checkFilter(filter) ?? checkPage(page));
  const { limit, before } = page;
  const { schema: s } = db.dialect;
  const values: unknown[] = [filter.env, filter.stack ?? null, filter.program ?? null, filter.queue ?? null];
  const text = `
select ${COLUMNS} from ${FROM(s)}
where ${await pageConditions(db, filter, values)} and ($5::uuid is null or r.id < $5)
order by r.id desc limit $6`;
  const rows = await db.runText<Row>("list_runs", text, [...values, before ?? null, limit + 1]);
  const runs = rows.slice(0, limit).map(recordOf);
  return { runs, next: rows.length > limit ? runs.at(-1)!.id : null };
}

export async function count(db: Database, filter: RunFilter): Promise<Partial<Record<RunState, number>>> {
  refuse(checkFilter(filter));
  const { schema: s } = db.dialect;
  const values: unknown[] = [filter.env, filter.stack ?? null, filter.program ?? null, filter.queue ?? null];
  const text = `
select r.state, count(*)::int as n from ${s}.runs r join ${s}.claim_groups g on g.id = r.claim_group
where ${filter.archived ? conditions(filter) : onShelf(filter)} group by 1`;
  const rows = await db.runText<{ state: RunState; n: number }>("count_runs", text, values);
  return Object.fromEntries(rows.map((row) => [row.state, row.n]));
}

/** So many are read and sorted at once; of more, the newest are soon met on the way down the primary key. */
const FEW = 2000;

/** Which way a page is read is not left to the planner: it has no statistics on shelves, and sorted 100,000 (500 ms). */
async function pageConditions(db: Database, filter: RunFilter, values: unknown[]): Promise<string> {
  const there = onShelf(filter);
  if (there === conditions(filter)) return there;
  const { schema: s } = db.dialect;
  const text = `
select count(*)::int as n from (
  select from ${s}.claim_groups g cross join lateral (
    select from ${s}.runs r where r.claim_group = g.id and ${there} limit ${FEW + 1}
  ) r limit ${FEW + 1}
) x`;
  const [row] = await db.runText<{ n: number }>("count_few_runs", text, values);
  return row!.n > FEW ? conditions(filter) : there;
}

const TROUBLE: readonly RunState[] = ["failed", "dead", "quarantined"];

/** The same runs, found in the index of ended ones where that holds few others: troubled runs, archived ones. */
function onShelf(filter: RunFilter): string {
  const troubled = filter.states?.every((state) => TROUBLE.includes(state));
  const found = filter.archived ? SHELVES.archived : troubled ? SHELVES.trouble : null;
  const there = conditions(filter);
  return found === null ? there : `${there} and ${shelf("r")} = ${found} and r.ended_at is not null`;
}

/** States stand in the text, found in our own list: as a parameter they would not match the partial indexes. */
function conditions(filter: RunFilter): string {
  const states = filter.states && RUN_STATES.filter((known) => filter.states?.includes(known)).map((one) => `'${one}'`);
  return [
    "g.env = $1 and ($2::text is null or g.stack = $2) and ($3::text is null or g.program = $3)",
    "($4::text is null or g.queue = $4)",
    filter.archived ? "r.archived_at is not null" : "r.archived_at is null",
    ...(states ? [states.length > 0 ? `r.state in (${states.join(", ")})` : "false"] : []),
  ].join(" and ");
}

function recordOf(row: Row): RunRecord {
  return {
    id: row.id,
    group: {
      env: row.env,
      stack: row.stack || null,
      queue: row.queue,
      program: row.program,
      version: row.version || null,
    },
    state: row.state,
    priority: row.priority,
    availableAt: row.available_at,
    wakeAt: row.wake_at,
    epoch: Number(row.epoch),
    owner: row.owner,
    leaseUntil: row.lease_until,
    seq: Number(row.seq),
    baseSeq: Number(row.base_seq),
    generation: row.generation,
    inboxSeq: Number(row.inbox_seq),
    failures: row.failures,
    crashes: row.crashes,
    crashLimit: row.crash_limit,
    parentId: row.parent_id,
    recoveries: row.recoveries,
    recoveredFrom: row.recovered_from,
    deferred: row.deferred,
    pending: row.pending,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    archivedAt: row.archived_at,
  };
}
