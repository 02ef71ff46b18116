// Reads runs: one, a page of them, or how many there are in each state.

import type { RunState } from "../../../kernel/run/run-state.js";
import type { RunFilter, RunPage, RunRecord } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { query, statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { groupJson } from "./groups.js";
import { byEnd, FILTERS, whereOf } from "./run-filter.js";
import { rangesOf, type Way, waysOf } from "./run-ranges.js";

/** The fields of a record. */
export const COLUMNS = `r.id, ${groupJson("g")} as "group", r.state, r.priority, ${ms("r.available_at")} as "availableAt",
  ${ms("r.wake_at")} as "wakeAt", r.epoch::float8, r.owner, ${ms("r.lease_until")} as "leaseUntil", r.seq::float8,
  r.base_seq::float8 as "baseSeq", r.generation, r.inbox_seq::float8 as "inboxSeq", r.failures, r.crashes,
  r.crash_limit as "crashLimit", r.parent_id as "parentId", r.pending, x.misfit, k."recoveredFrom", k.recoveries,
  ${ms("r.created_at")} as "createdAt", ${ms("r.ended_at")} as "endedAt", ${ms("r.archived_at")} as "archivedAt", f.deferred, a.attributes`;

export const FROM = (s: string, runs = `${s}.runs`) => `${runs} r join ${s}.claim_groups g on g.id = r.claim_group
left join lateral (
  select json_build_object('by', f.by, 'expiresAt', ${ms("f.expires_at")}, 'takenBy', f.taken_by, 'takenAt', ${ms("f.taken_at")})
    as deferred
  from ${s}.deferred_runs f where f.run_id = r.id limit 1
) f on true
left join lateral (
  select json_object_agg(a.name, a.value::json) as attributes from ${s}.run_attributes a where a.run_id = r.id
) a on true
left join lateral (
  select json_build_object('builds', r.misfits, 'wanted', (select m.wanted from ${s}.misfit_runs m where m.run_id = r.id)) as misfit
  where r.misfits is not null
) x on true
cross join lateral (
  select count(*)::int as recoveries, (array_agg(k.owner order by k.epoch desc))[1] as "recoveredFrom"
  from ${s}.reclaimed_claims k where k.run_id = r.id
) k`;

const getRun = statement(
  "get_run",
  "Reads one run.",
  ({ schema: s }) => `
select ${COLUMNS} from ${FROM(s)} where r.id = $1`,
);

interface PageAsked {
  readonly filter: RunFilter;
  readonly limit: number;
  readonly before?: string;
  readonly by: Way;
}

const listRuns = query<PageAsked>({
  name: "list_runs",
  purpose: "Lists a page of runs, the newest first.",
  text({ schema: s }, { filter, limit, before, by }) {
    const where = whereOf(s, filter);
    const values = [...where.values];
    const behind = before === undefined ? [] : [`$${values.push(before)}::uuid`];
    const most = `limit $${values.push(limit + 1)}`;
    const place = {
      s,
      filter,
      where,
      most,
      behind: (id: string) => behind.map((last) => ` and ${id} < ${last}`).join(""),
    };
    const text =
      by === "owner" || by === "few"
        ? `select ${COLUMNS} from ${FROM(s)} where ${where.text}${place.behind("r.id")} order by r.id desc ${most}`
        : `select ${COLUMNS} from ${FROM(s, rangesOf(place, by))} order by r.id desc`;
    return { text, values };
  },
  samples: {
    "of all states": { filter: { env: "e" }, limit: 10, by: "newest" },
    "of all states, the next page": { filter: { env: "e" }, limit: 10, before: "b", by: "newest" },
    "of a program that is rare": { filter: { env: "e", program: "p" }, limit: 10, by: "state" },
    "with every condition": { filter: FILTERS["with every condition"]!, limit: 10, before: "b", by: "owner" },
    troubled: { filter: FILTERS["troubled"]!, limit: 10, by: "state" },
    archived: { filter: FILTERS["archived"]!, limit: 10, by: "state" },
    "by attributes": { filter: FILTERS["with attributes"]!, limit: 10, before: "b", by: { attribute: 1 } },
    "by state, with attributes": { filter: FILTERS["failed, with attributes"]!, limit: 10, by: "state" },
    deferred: { filter: FILTERS["deferred"]!, limit: 10, by: "few" },
    "by key": { filter: FILTERS["with a key"]!, limit: 10, by: "few" },
  },
});

const countRuns = query<RunFilter>({
  name: "count_runs",
  purpose: "Counts runs by state.",
  text({ schema: s }, filter) {
    const where = whereOf(s, filter);
    const text = `
select r.state, count(*)::int as n from ${s}.runs r join ${s}.claim_groups g on g.id = r.claim_group
where ${filter.archived ? where.text : byEnd(filter, where)} group by 1`;
    return { text, values: where.values };
  },
  samples: FILTERS,
});

async function get(db: Database, runId: string): Promise<RunRecord | null> {
  const [run] = await db.run<RunRecord>(getRun, [runId]);
  return run ?? null;
}

async function list(db: Database, filter: RunFilter, page: { limit: number; before?: string }): Promise<RunPage> {
  const { limit } = page;
  const read = async (by: Way) => {
    const asked = { filter, ...page, by };
    return by === "owner" || by === "few"
      ? db.runQuery<RunRecord, PageAsked>(listRuns, asked)
      : db.runInOrder<RunRecord, PageAsked>(listRuns, asked);
  };
  let rows: RunRecord[] = [];
  for (const by of await waysOf(db, filter)) if (rows.length <= limit) rows = await read(by);
  const runs = rows.slice(0, limit);
  return { runs, next: rows.length > limit ? runs.at(-1)!.id : null };
}

async function count(db: Database, filter: RunFilter): Promise<Partial<Record<RunState, number>>> {
  const rows = await db.runWhole<{ state: RunState; n: number }, RunFilter>(countRuns, filter);
  return Object.fromEntries(rows.map((row) => [row.state, row.n]));
}

export const records = { get, list, count };
