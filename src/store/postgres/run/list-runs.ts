// Reads runs: one, a page of them, or how many there are in each state.

import { lowestId } from "../../../kernel/id.js";
import { RUN_STATES, type RunState } from "../../../kernel/run/run-state.js";
import type { RunFilter, RunPage, RunRecord } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { query, statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { oneOf } from "../connection/rowset.js";
import { ENDED_PARTS, endedPartOf } from "./ended-part.js";

export const COLUMNS = `r.id, g.env, g.stack, g.queue, g.program, g.version, r.state, r.priority,
  ${ms("r.available_at")} as available_at, ${ms("r.wake_at")} as wake_at, r.epoch, r.owner,
  ${ms("r.lease_until")} as lease_until, r.seq, r.base_seq, r.generation, r.inbox_seq, r.failures, r.crashes,
  r.crash_limit, r.parent_id, r.pending, x.misfit, k.recovered_from, k.recoveries,
  ${ms("r.created_at")} as created_at, ${ms("r.ended_at")} as ended_at, ${ms("r.archived_at")} as archived_at, f.deferred`;

export const FROM = (s: string, runs = `${s}.runs`) => `${runs} r join ${s}.claim_groups g on g.id = r.claim_group
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
  from ${s}.reclaimed_claims k where k.run_id = r.id
) k`;

const getRun = statement(
  "get_run",
  "Reads one run.",
  ({ schema: s }) => `
select ${COLUMNS} from ${FROM(s)} where r.id = $1`,
);

export interface RunRow {
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

interface PageAsked {
  readonly filter: RunFilter;
  readonly limit: number;
  readonly before?: string;
  /** The index that is best: the primary key, that of ended runs, or the one that the planner chooses. */
  readonly by: "id" | "end" | "any";
}

const EVERY = { env: "e", stack: "s", program: "p", queue: "q", from: 1, to: 2, owner: "o" } as const;
export const FILTERS: Readonly<Record<string, RunFilter>> = {
  "of all states": { env: "e" },
  "with every condition": { ...EVERY, states: ["waiting", "running"] },
  troubled: { env: "e", states: ["failed", "dead"] },
  archived: { env: "e", archived: true },
};

const listRuns = query<PageAsked>({
  name: "list_runs",
  purpose: "Lists a page of runs, the newest first.",
  text({ schema: s }, { filter, limit, before, by }) {
    const where = whereOf(filter);
    const values = [...where.values];
    const behind = before === undefined ? "" : ` and r.id < $${values.push(before)}`;
    const most = `order by r.id desc limit $${values.push(limit + 1)}`;
    // Of all states, the newest are found on the way down the primary key.
    const groups = `select g.id from ${s}.claim_groups g where ${where.groups}`;
    const newest = `(select * from ${s}.runs r where ${oneOf("r.claim_group", groups)} and ${where.runs}${behind} ${most})`;
    const conditions = by === "end" ? byEnd(filter, where) : where.text;
    const text =
      by === "id"
        ? `select ${COLUMNS} from ${FROM(s, newest)} order by r.id desc`
        : `select ${COLUMNS} from ${FROM(s)} where ${conditions}${behind} ${most}`;
    return { text, values };
  },
  samples: {
    "of all states": { filter: { env: "e" }, limit: 10, by: "id" },
    "of all states, the next page": { filter: { env: "e" }, limit: 10, before: "b", by: "id" },
    "with every condition": { filter: FILTERS["with every condition"]!, limit: 10, before: "b", by: "any" },
    "few troubled": { filter: FILTERS["troubled"]!, limit: 10, by: "end" },
    "few archived": { filter: FILTERS["archived"]!, limit: 10, by: "end" },
  },
});

const countRuns = query<RunFilter>({
  name: "count_runs",
  purpose: "Counts runs by state.",
  text({ schema: s }, filter) {
    const where = whereOf(filter);
    const text = `
select r.state, count(*)::int as n from ${s}.runs r join ${s}.claim_groups g on g.id = r.claim_group
where ${filter.archived ? where.text : byEnd(filter, where)} group by 1`;
    return { text, values: where.values };
  },
  samples: FILTERS,
});

const countFewRuns = query<RunFilter>({
  name: "count_few_runs",
  purpose: "Finds out whether few enough runs match to sort them.",
  text({ schema: s }, filter) {
    const where = whereOf(filter);
    const text = `
select count(*)::int as n from (
  select from ${s}.claim_groups g cross join lateral (
    select from ${s}.runs r where r.claim_group = g.id and ${byEnd(filter, where)} limit ${FEW + 1}
  ) r limit ${FEW + 1}
) x`;
    return { text, values: where.values };
  },
  samples: { troubled: FILTERS["troubled"]!, archived: FILTERS["archived"]! },
});

export async function get(db: Database, runId: string): Promise<RunRecord | null> {
  const [row] = await db.run<RunRow>(getRun, [runId]);
  return row ? recordOf(row) : null;
}

export async function list(
  db: Database,
  filter: RunFilter,
  page: { limit: number; before?: string },
): Promise<RunPage> {
  const { limit } = page;
  const rows = await db.runQuery<RunRow, PageAsked>(listRuns, { filter, ...page, by: await bestIndex(db, filter) });
  const runs = rows.slice(0, limit).map(recordOf);
  return { runs, next: rows.length > limit ? runs.at(-1)!.id : null };
}

export async function count(db: Database, filter: RunFilter): Promise<Partial<Record<RunState, number>>> {
  const rows = await db.runWhole<{ state: RunState; n: number }, RunFilter>(countRuns, filter);
  return Object.fromEntries(rows.map((row) => [row.state, row.n]));
}

/** As many are read and sorted at once; of more, the newest are soon found on the way down the primary key. */
const FEW = 2000;

/** Which way a page is read is not left to the planner: it has no statistics on ended runs, and sorted 100,000 (500 ms). */
async function bestIndex(db: Database, filter: RunFilter): Promise<PageAsked["by"]> {
  if ((filter.owner ?? null) !== null) return "any";
  if (filter.states === undefined && !filter.archived) return "id";
  if (endedPart(filter) === null) return "any";
  const [row] = await db.runQuery<{ n: number }, RunFilter>(countFewRuns, filter);
  return row!.n > FEW ? "any" : "end";
}

const TROUBLE: readonly RunState[] = ["failed", "dead", "quarantined"];

/** The part of the index of ended runs that holds what is asked for and few others: troubled runs, archived ones. */
function endedPart({ archived, states }: RunFilter): number | null {
  if (archived) return ENDED_PARTS.archived;
  return states?.every((state) => TROUBLE.includes(state)) ? ENDED_PARTS.trouble : null;
}

export function byEnd(filter: RunFilter, { text: conditions }: Where): string {
  const part = endedPart(filter);
  return part === null ? conditions : `${conditions} and ${endedPartOf("r")} = ${part} and r.ended_at is not null`;
}

export interface Where {
  readonly groups: string;
  readonly runs: string;
  /** Both. */
  readonly text: string;
  readonly values: unknown[];
}

/**
 * Only the conditions that are asked for are in the text. States are literals, taken from our own list: as parameters they would
 * not match the partial indexes.
 */
export function whereOf(filter: RunFilter): Where {
  const { env, stack, program, queue, states, archived, from, to, owner } = filter;
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
    ...((from ?? null) === null ? [] : [`r.id >= $${values.push(lowestId(from!))}::uuid`]),
    ...((to ?? null) === null ? [] : [`r.id < $${values.push(lowestId(to!))}::uuid`]),
    ...((owner ?? null) === null ? [] : [`r.owner = $${values.push(owner)}::uuid and r.state = 'running'`]),
  ].join(" and ");
  return { groups, runs, text: `${groups} and ${runs}`, values };
}

export function recordOf(row: RunRow): RunRecord {
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
