// Reads runs: one, a page of them, or how many there are in each state.

import { RUN_STATES, type RunState } from "../../../kernel/run/run-state.js";
import type { RunFilter, RunPage, RunRecord } from "../../contract/run/runs.js";
import { oneOf } from "../connection/batch.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { SHELVES, shelf } from "./shelf.js";

const COLUMNS = `r.id, g.env, g.stack, g.queue, g.program, g.version, r.state, r.priority,
  ${ms("r.available_at")} as available_at, ${ms("r.wake_at")} as wake_at, r.epoch, r.owner,
  ${ms("r.lease_until")} as lease_until, r.seq, r.base_seq, r.generation, r.inbox_seq, r.failures, r.crashes,
  r.crash_limit, r.parent_id, r.pending, x.misfit, k.recovered_from, k.recoveries,
  ${ms("r.created_at")} as created_at, ${ms("r.ended_at")} as ended_at, ${ms("r.archived_at")} as archived_at, f.deferred`;

const FROM = (s: string, runs = `${s}.runs`) => `${runs} r join ${s}.claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object('by', f.by, 'expiresAt', ${ms("f.expires_at")}, 'takenBy', f.taken_by, 'takenAt', ${ms("f.taken_at")})
    as deferred
  from ${s}.deferred_runs f where f.run_id = r.id limit 1
) f on true
left join lateral (
  select json_build_object('builds', r.misfits, 'wanted', (select m.wanted from ${s}.misfit_runs m where m.run_id = r.id)) as misfit
  where r.misfits is not null
) x on true
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
  misfit: RunRecord["misfit"];
}

export async function get(db: Database, runId: string): Promise<RunRecord | null> {
  const [row] = await db.run<Row>(getRun, [runId]);
  return row ? recordOf(row) : null;
}

export async function list(
  db: Database,
  filter: RunFilter,
  page: { limit: number; before?: string },
): Promise<RunPage> {
  const { limit, before } = page;
  const { schema: s } = db.dialect;
  const where = whereOf(filter);
  const values = [...where.values];
  const behind = before === undefined ? "" : ` and r.id < $${values.push(before)}`;
  const most = `order by r.id desc limit $${values.push(limit + 1)}`;
  // Of all states, the newest are met on the way down the primary key; which way to some states is shorter, the planner knows.
  const all = filter.states === undefined && !filter.archived;
  const groups = `select g.id from ${s}.claim_groups g where ${where.groups}`;
  const newest = `(select * from ${s}.runs r where ${oneOf("r.claim_group", groups)} and ${where.runs}${behind} ${most})`;
  const text = all
    ? `select ${COLUMNS} from ${FROM(s, newest)} order by r.id desc`
    : `select ${COLUMNS} from ${FROM(s)} where ${await pageConditions(db, filter, where)}${behind} ${most}`;
  const rows = await db.runText<Row>("list_runs", text, values);
  const runs = rows.slice(0, limit).map(recordOf);
  return { runs, next: rows.length > limit ? runs.at(-1)!.id : null };
}

export async function count(db: Database, filter: RunFilter): Promise<Partial<Record<RunState, number>>> {
  const { schema: s } = db.dialect;
  const where = whereOf(filter);
  const text = `
select r.state, count(*)::int as n from ${s}.runs r join ${s}.claim_groups g on g.id = r.claim_group
where ${filter.archived ? where.text : onShelf(filter, where)} group by 1`;
  const rows = await db.runWhole<{ state: RunState; n: number }>("count_runs", text, where.values);
  return Object.fromEntries(rows.map((row) => [row.state, row.n]));
}

/** So many are read and sorted at once; of more, the newest are soon met on the way down the primary key. */
const FEW = 2000;

/** Which way a page is read is not left to the planner: it has no statistics on shelves, and sorted 100,000 (500 ms). */
async function pageConditions(db: Database, filter: RunFilter, where: Where): Promise<string> {
  const there = onShelf(filter, where);
  if (there === where.text) return there;
  const { schema: s } = db.dialect;
  const text = `
select count(*)::int as n from (
  select from ${s}.claim_groups g cross join lateral (
    select from ${s}.runs r where r.claim_group = g.id and ${there} limit ${FEW + 1}
  ) r limit ${FEW + 1}
) x`;
  const [row] = await db.runText<{ n: number }>("count_few_runs", text, where.values);
  return row!.n > FEW ? where.text : there;
}

const TROUBLE: readonly RunState[] = ["failed", "dead", "quarantined"];

/** The same runs, found in the index of ended ones where that holds few others: troubled runs, archived ones. */
function onShelf(filter: RunFilter, { text: there }: Where): string {
  const troubled = filter.states?.every((state) => TROUBLE.includes(state));
  const found = filter.archived ? SHELVES.archived : troubled ? SHELVES.trouble : null;
  return found === null ? there : `${there} and ${shelf("r")} = ${found} and r.ended_at is not null`;
}

interface Where {
  readonly groups: string;
  readonly runs: string;
  /** Both. */
  readonly text: string;
  readonly values: unknown[];
}

/**
 * Only what is asked for stands in the text: one plan is made for all values. States stand there themselves, found in our own list: as
 * a parameter they would not match the partial indexes.
 */
function whereOf({ env, stack, program, queue, states, archived }: RunFilter): Where {
  const values: unknown[] = [];
  const equal = (column: string, value: string | null | undefined) =>
    (value ?? null) === null ? [] : [`g.${column} = $${values.push(value)}`];
  const named = states && RUN_STATES.filter((known) => states.includes(known)).map((one) => `'${one}'`);
  const groups = [equal("env", env), equal("stack", stack), equal("program", program), equal("queue", queue)]
    .flat()
    .join(" and ");
  const runs = [
    archived ? "r.archived_at is not null" : "r.archived_at is null",
    ...(named ? [named.length > 0 ? `r.state in (${named.join(", ")})` : "false"] : []),
  ].join(" and ");
  return { groups, runs, text: `${groups} and ${runs}`, values };
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
    misfit: row.misfit,
    pending: row.pending,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    archivedAt: row.archived_at,
  };
}
