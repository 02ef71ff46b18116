// The views of the PostgreSQL store, joined.

import type { RunFilter, RunRecord } from "../../contract/run/records.js";
import type { Counted, LimitLine, ViewPage, ViewRequest, ViewStore } from "../../contract/view/views.js";
import { MOST_IN_LINE } from "../../contract/view/views.js";
import type { Database } from "../connection/database.js";
import { query, statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { IDS } from "../connection/rowset.js";
import { COLUMNS, FROM } from "../run/list-runs.js";
import { byEnd, FILTERS, whereOf } from "../run/run-filter.js";
import { deadLetterViews } from "./dead-letters.js";
import { ended, envs, waitsFor } from "./ends.js";
import { outline, questions, takeovers } from "./histories.js";
import { leases, timers } from "./lists.js";

export const getRuns = statement(
  "get_runs",
  "Reads several runs, with the clock.",
  ({ schema: s, now }) => `
with t as materialized (select ${now} as now)
select ${ms("t.now")} as now, x.* from t left join lateral (
  select w.ord::int, r.* from ${IDS.from(1).as("w", "ord")}
  cross join lateral (select ${COLUMNS} from ${FROM(s)} where r.id = w.id limit 1) r
) x on true`,
);

interface CountAsked {
  readonly filter: RunFilter;
  readonly most: number;
}

const countSome = query<CountAsked>({
  name: "count_some_runs",
  purpose: "Counts runs up to a bound.",
  text({ schema: s }, { filter, most }) {
    const where = whereOf(s, filter);
    const values = [...where.values];
    const text = `
select count(*)::int as n from (
  select from ${s}.claim_groups g cross join lateral (
    select from ${s}.runs r where r.claim_group = g.id and ${byEnd(filter, where)} limit $${values.push(most + 1)}
  ) r limit $${values.length}
) x`;
    return { text, values };
  },
  samples: Object.fromEntries(Object.entries(FILTERS).map(([name, filter]) => [name, { filter, most: 100 }])),
});

/** From key to key, each found by its index: a line of 100,000 runs is not read past. */
export const listLimits = statement(
  "list_limits",
  "Lists limits with the runs that hold and wait.",
  ({ schema: s }) => {
    const nearest = (state: string, after: string) =>
      `(select l.key from ${s}.run_limits l where l.state = '${state}' and l.key > ${after} order by l.key limit 1)`;
    const next = (after: string) => `least(${nearest("waits", after)}, ${nearest("granted", after)})`;
    const counted = (state: string) =>
      `(select count(*)::int from (
      select from ${s}.run_limits l where l.state = '${state}' and l.key = k.key limit ${MOST_IN_LINE}) x)`;
    return `
with recursive keys as (
  select ${next('$2::text collate "C"')} as key, 1 as n
  union all
  select ${next("k.key")}, k.n + 1 from keys k where k.n < $3 and starts_with(k.key, $1)
)
select k.key, ${counted("granted")} as granted, ${counted("waits")} as waiting
from keys k where starts_with(k.key, $1) order by k.n`;
  },
);

export function viewStore(db: Database): ViewStore {
  return {
    runs: (runIds) => runs(db, runIds),
    count: (filter, most) => count(db, filter, most),
    outline: (requests) => outline(db, requests),
    questions: (request) => questions(db, request),
    takeovers: (request) => takeovers(db, request),
    leases: (request) => leases(db, request),
    timers: (request) => timers(db, request),
    waitsFor: (runIds) => waitsFor(db, runIds),
    envs: () => envs(db),
    ended: (request) => ended(db, request),
    limits: (request) => limits(db, request),
    deadLetters: (request) => deadLetterViews.deadLetters(db, request),
    deadGroups: (request) => deadLetterViews.deadGroups(db, request),
  };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function runs(db: Database, runIds: readonly string[]) {
  const ids = runIds.map((id) => (UUID.test(id) ? id : null));
  const rows = await db.run<RunRecord & { now: number; ord: number | null }>(getRuns, IDS.arrays(ids));
  const found = new Map(rows.flatMap(({ now, ord, ...run }) => (ord === null ? [] : [[ord, run] as const])));
  return { now: rows[0]!.now, runs: runIds.map((_, i) => found.get(i + 1) ?? null) };
}

async function count(db: Database, filter: RunFilter, most: number): Promise<Counted> {
  const [row] = await db.runQuery<{ n: number }, CountAsked>(countSome, { filter, most });
  return { n: Math.min(row!.n, most), atLeast: row!.n > most };
}

async function limits(db: Database, { env, limit, after = "" }: ViewRequest): Promise<ViewPage<LimitLine>> {
  const prefix = `${env}/`;
  const found = await db.run<LimitLine>(listLimits, [prefix, `${prefix}${after}`, limit + 1]);
  const rows = found.slice(0, limit).map((row) => ({ ...row, key: row.key.slice(prefix.length) }));
  return { rows, next: found.length > limit ? rows.at(-1)!.key : null };
}
