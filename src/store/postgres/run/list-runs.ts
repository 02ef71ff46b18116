// Reads runs: one, a page of them, or how many there are in each state.

import { ENDED_STATES, RUN_STATES, type RunState } from "../../../kernel/run/run-state.js";
import type { RunFilter, RunPage, RunRecord } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { query, statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { oneOf } from "../connection/rowset.js";
import { groupJson } from "./groups.js";
import { byEnd, FILTERS, type Where, whereOf } from "./run-filter.js";

/** In the index runs_history, and in runs_kept. */
const ENDS: readonly RunState[] = [...ENDED_STATES, "quarantined"];
const KEPT: readonly RunState[] = ["held", "blocked", "paused"];
/** The expression must be the index's own, to the letter. */
const listed = ({ archived = false }: RunFilter) =>
  `r.ended_at < 'infinity' and (case when r.archived_at is null then 0 else 1 end) = ${archived ? 1 : 0}`;
const texts = (states: readonly RunState[]) => states.map((state) => `'${state}'`).join(", ");

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
  /** Where the page is looked for: among the newest runs, in the indexes of each state, or by what few runs have. */
  readonly by: "newest" | "state" | "owner" | "few";
}

/** The newest runs that are looked at before the indexes: a page of 50 is filled if one run in forty fits. */
const NEWEST = 2_000;

const listRuns = query<PageAsked>({
  name: "list_runs",
  purpose: "Lists a page of runs, the newest first.",
  text({ schema: s }, { filter, limit, before, by }) {
    const where = whereOf(s, filter);
    const values = [...where.values];
    const behind = before === undefined ? "" : ` and r.id < $${values.push(before)}::uuid`;
    const most = `order by r.id desc limit $${values.push(limit + 1)}`;
    const place = { s, filter, where, behind, most };
    const text =
      by === "newest" || by === "state"
        ? `select ${COLUMNS} from ${FROM(s, by === "state" ? byState(place) : newest(place))} order by r.id desc`
        : `select ${COLUMNS} from ${FROM(s)} where ${where.text}${behind} ${most}`;
    return { text, values };
  },
  samples: {
    "of all states": { filter: { env: "e" }, limit: 10, by: "newest" },
    "of all states, the next page": { filter: { env: "e" }, limit: 10, before: "b", by: "newest" },
    "of a program that is rare": { filter: { env: "e", program: "p" }, limit: 10, by: "state" },
    "with every condition": { filter: FILTERS["with every condition"]!, limit: 10, before: "b", by: "owner" },
    troubled: { filter: FILTERS["troubled"]!, limit: 10, by: "state" },
    archived: { filter: FILTERS["archived"]!, limit: 10, by: "state" },
    "by attributes": { filter: FILTERS["with attributes"]!, limit: 10, before: "b", by: "state" },
    "by key": { filter: FILTERS["with a key"]!, limit: 10, by: "few" },
  },
});

interface Place {
  readonly s: string;
  readonly filter: RunFilter;
  readonly where: Where;
  readonly behind: string;
  readonly most: string;
}

/** Those that fit among the newest runs. Bounded before anything else is judged: a filter that fits none reads no more. */
function newest({ s, where, behind, most }: Place): string {
  const groups = `select g.id from ${s}.claim_groups g where ${where.groups}`;
  const range = ["true", ...where.range].join(" and ");
  return `(select * from (
    select * from ${s}.runs r where ${range}${behind} order by r.id desc limit ${NEWEST}
  ) r where ${oneOf("r.claim_group", groups)} and ${where.runs} ${most})`;
}

/**
 * Those that fit, from ranges in the order of ids: of an attribute's value, or of each state that a run ends in. Runs that have not
 * ended are few in comparison: those of a state are read whole.
 */
function byState({ s, filter, where, behind, most }: Place): string {
  const groups = `select g.id from ${s}.claim_groups g where ${where.groups}`;
  const asked = RUN_STATES.filter((state) => filter.states?.includes(state) ?? true);
  const [attribute] = where.attributes;
  const of = (condition: string) => `select r.* from ${s}.runs r where ${condition} and ${where.runs}${behind}`;
  const ended = asked.filter((state) => ENDS.includes(state)).map((one) => `r.state = '${one}' and ${listed(filter)}`);
  const kept = asked.some((state) => KEPT.includes(state)) ? [`r.state in (${texts(KEPT)})`] : [];
  const ofGroup = attribute
    ? [byAttribute(s, attribute, { where, behind, most })]
    : [
        ...[...ended, ...kept].map((one) => `(${of(`r.claim_group = g.id and ${one}`)} ${most})`),
        // Not in the order of ids: asked for a few of them in that order, the planner goes down the primary key.
        ...(asked.includes("waiting") ? [of("r.claim_group = g.id and r.state = 'waiting'")] : []),
      ];
  // No index has these by group.
  const held = attribute ? [] : asked.filter((state) => state === "running" || state === "parked");
  const parts = [
    ...(ofGroup.length > 0
      ? [
          `select x.* from ${s}.claim_groups g cross join lateral (${ofGroup.join(" union all ")}) x where ${where.groups}`,
        ]
      : []),
    ...held.map((state) => of(`r.state = '${state}' and ${oneOf("r.claim_group", groups)}`)),
  ];
  return `(select * from (${parts.join(" union all ")}) r ${most})`;
}

function byAttribute(s: string, attribute: string, { where, behind, most }: Pick<Place, "where" | "behind" | "most">) {
  const newestFirst = most.replace("r.id", "a.run_id");
  return `(select r.* from ${s}.run_attributes a
    cross join lateral (select * from ${s}.runs r where r.id = a.run_id and ${where.runs} limit 1) r
    where a.claim_group = g.id and ${attribute}${behind.replace("r.id", "a.run_id")} ${newestFirst})`;
}

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
  const read = async (by: PageAsked["by"]) => {
    const asked = { filter, ...page, by };
    const inOrder = by === "newest" || by === "state";
    return inOrder
      ? db.runInOrder<RunRecord, PageAsked>(listRuns, asked)
      : db.runQuery<RunRecord, PageAsked>(listRuns, asked);
  };
  let rows: RunRecord[] = [];
  for (const by of placesOf(filter)) if (rows.length <= limit) rows = await read(by);
  const runs = rows.slice(0, limit);
  return { runs, next: rows.length > limit ? runs.at(-1)!.id : null };
}

/** Where a page is looked for, and where then if it is not full: this is not left to the planner, which sorted 100,000 runs (500 ms). */
function placesOf({ owner, archived, keyPrefix, parent, attributes, states }: RunFilter): readonly PageAsked["by"][] {
  if ((owner ?? null) !== null) return ["owner"];
  if ((keyPrefix ?? null) !== null || (parent ?? null) !== null) return ["few"];
  if (attributes && Object.keys(attributes).length > 0) return ["state"];
  if (states?.length === 0) return ["newest"];
  if (archived || states?.every((state) => ENDS.includes(state))) return ["state"];
  return ["newest", "state"];
}

async function count(db: Database, filter: RunFilter): Promise<Partial<Record<RunState, number>>> {
  const rows = await db.runWhole<{ state: RunState; n: number }, RunFilter>(countRuns, filter);
  return Object.fromEntries(rows.map((row) => [row.state, row.n]));
}

export const records = { get, list, count };
