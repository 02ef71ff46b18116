// Views over what runs wait for, which envs have runs, and which runs have ended.

import type { RunState } from "../../../kernel/run/run-state.js";
import { type EndedPage, type EndedRun, MOST_ENVS, type ViewRequest } from "../../contract/view/views.js";
import type { Database } from "../connection/database.js";
import { query, statement } from "../connection/dialect.js";
import { IDS } from "../connection/rowset.js";
import { ENDED_PARTS, endedPartOf } from "../run/ended-states.js";
import { microseconds, placeOf } from "./place.js";

export const limitsOfRuns = statement(
  "limits_of_runs",
  "Reads which limits runs wait for.",
  ({ schema: s }) => `
select w.ord::int, l.key, g.env from ${IDS.from(1).as("w", "ord")}
cross join lateral (select r.claim_group from ${s}.runs r where r.id = w.id limit 1) r
cross join lateral (select l.key from ${s}.run_limits l where l.run_id = w.id and l.state = 'waits' limit 1) l
cross join lateral (select g.env from ${s}.claim_groups g where g.id = r.claim_group limit 1) g`,
);

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export async function waitsFor(db: Database, runIds: readonly string[]): Promise<readonly (string | null)[]> {
  const ids = runIds.map((id) => (UUID.test(id) ? id : null));
  const rows = await db.run<{ ord: number; key: string; env: string }>(limitsOfRuns, IDS.arrays(ids));
  const found = new Map(rows.map(({ ord, key, env }) => [ord, key.slice(env.length + 1)]));
  return runIds.map((_, i) => found.get(i + 1) ?? null);
}

const SOME = [
  "r.ended_at is not null and r.state in ('completed', 'failed', 'dead', 'cancelled', 'skipped', 'quarantined')",
  "r.state = 'waiting'",
  "r.state in ('held', 'blocked', 'paused')",
];

export const envsWithRuns = statement("envs_with_runs", "Lists the envs that have runs.", ({ schema: s }) => {
  const any = SOME.map((one) => `exists (select from ${s}.runs r where r.claim_group = g.id and ${one})`);
  const held = `select r.claim_group from ${s}.runs r where r.state in ('running', 'parked')`;
  return `
select distinct g.env from ${s}.claim_groups g
where ${any.join(" or ")} or g.id = any(array(${held} limit 10000)) order by 1 limit ${MOST_ENVS}`;
});

export async function envs(db: Database): Promise<readonly string[]> {
  return (await db.run<{ env: string }>(envsWithRuns, [])).map(({ env }) => env);
}

const PLACE = "1/00000000-0000-7000-8000-000000000000";

/** Each part of a group is one range of the index runs_ended. */
export const listEnded = query<ViewRequest>({
  name: "list_ended",
  purpose: "Lists runs in the order of their ends.",
  text({ schema: s, now }, { env, limit, after }) {
    const values: unknown[] = [env, limit];
    if (after !== undefined) values.push(...placeOf(after, 2));
    const from = after === undefined ? "false" : `(r.ended_at, r.id) > (${microseconds("$3")}, $4::uuid)`;
    const us = (at: string) => `(extract(epoch from ${at}) * 1000000)::bigint`;
    const text = `
with t as materialized (select ${now} as now)
select ${us("t.now")} as now_us, x.* from t left join lateral (
  select x.*, ${us("x.ended_at")} as us, g.program, g.queue, g.stack
  from ${s}.claim_groups g
  cross join unnest(array[${ENDED_PARTS.ended}, ${ENDED_PARTS.trouble}]) as part(n)
  cross join lateral (
    select r.id, r.state, r.parent_id, r.ended_at from ${s}.runs r
    where r.claim_group = g.id and ${endedPartOf("r")} = part.n and r.ended_at is not null and ${from}
    order by r.ended_at, r.id limit $2
  ) x
  where g.env = $1 order by x.ended_at, x.id limit $2
) x on true order by x.ended_at, x.id`;
    return { text, values };
  },
  samples: { "from now on": { env: "e", limit: 10 }, "the next page": { env: "e", limit: 10, after: PLACE } },
});

interface EndedRow {
  now_us: string;
  us: string | null;
  id: string;
  state: RunState;
  parent_id: string | null;
  program: string;
  queue: string;
  stack: string;
}

export async function ended(db: Database, request: ViewRequest): Promise<EndedPage> {
  const found = await db.runInOrder<EndedRow, ViewRequest>(listEnded, request);
  const rows = found.flatMap((row): EndedRun[] => {
    if (row.us === null) return [];
    const { id: runId, program, queue, parent_id: parentId, us } = row;
    const state = row.state as EndedRun["state"];
    const [stack, at] = [row.stack || null, Math.floor(Number(us) / 1000)];
    return [{ runId, program, queue, stack, parentId, state, at, place: `${us}/${runId}` }];
  });
  return { rows, next: rows.at(-1)?.place ?? request.after ?? `${found[0]!.now_us}/${FIRST_ID}` };
}

const FIRST_ID = "00000000-0000-0000-0000-000000000000";
