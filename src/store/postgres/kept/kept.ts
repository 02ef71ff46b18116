// Kept values: read by key and in order, written all or none.

import type { KeepOptions, KeepValue, KeptQuery, KeptStore, KeptValue } from "../../contract/kept/kept.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval, ms } from "../connection/instant.js";
import { float8, rowset, text } from "../connection/rowset.js";

const COLUMNS = `v.key, v.codec, v.data, ${ms("v.at")} as at, ${ms("v.until")} as until`;

export const getKept = statement(
  "get_kept_value",
  "Reads one kept value that has not expired.",
  ({ schema: s, now }) => `
select ${COLUMNS} from ${s}.kept_values v
where v.env = $1 and v.space = $2 and v.key = $3 and (v.until is null or v.until > ${now})`,
);

export const listKept = statement(
  "list_kept_values",
  "Lists kept values of a space that have not expired, in the order of their keys.",
  ({ schema: s, now }) => `
select ${COLUMNS} from ${s}.kept_values v
where v.env = $1 and v.space = $2 and v.key > $3 and (v.until is null or v.until > (select ${now}))
order by v.key limit $4`,
);

const VALUES = rowset<KeepValue>()({
  env: text(({ env }) => env),
  space: text(({ space }) => space),
  key: text(({ key }) => key),
  codec: text(({ value }) => value?.codec ?? null),
  data: text(({ value }) => value?.data ?? null),
  ttl_ms: float8(({ ttlMs }) => ttlMs),
});

/**
 * The claim's row is locked against its next grant until this is written: a holder that lost it in between writes nothing. Only a
 * running run has a token: with the state in the predicate, a plan of an empty table read all running runs.
 */
export const putKept = statement(
  "put_kept_values",
  "Writes and removes kept values, under a claim if one is given.",
  ({ schema: s, now }) => `
with t as materialized (select ${now} as now
), held as materialized (
  select r.id from ${s}.runs r where r.id = $1 and r.epoch = $2 and r.token = $3 for share
), allowed as materialized (select $1::uuid is null or exists (select from held) as is_allowed
), given as materialized (
  select w.* from ${VALUES.from(4).as("w")}, allowed where allowed.is_allowed
), removed as (
  delete from ${s}.kept_values v where v.ctid = any(array(
    select x.ctid from given w cross join lateral (
      select k.ctid from ${s}.kept_values k where k.env = w.env and k.space = w.space and k.key = w.key for update offset 0
    ) x where w.data is null))
), written as (
  insert into ${s}.kept_values (env, space, key, codec, data, at, until)
  select w.env, w.space, w.key, w.codec, w.data, t.now, t.now + ${interval("w.ttl_ms")} from given w, t where w.data is not null
  on conflict (env, space, key) do update set codec = excluded.codec, data = excluded.data, at = excluded.at, until = excluded.until
)
select is_allowed as allowed from allowed`,
);

interface Row {
  key: string;
  codec: string;
  data: string;
  at: number;
  until: number | null;
}

export function keptStore(db: Database): KeptStore {
  return {
    get: async (env, space, key) => keptOf((await db.run<Row>(getKept, [env, space, key]))[0]),
    list: async ({ env, space, after = "", limit }: KeptQuery) => {
      if (limit < 1) return [];
      return (await db.run<Row>(listKept, [env, space, after, limit])).map((row) => keptOf(row)!);
    },
    put: async (values, options = {}) => put(db, values, options),
  };
}

async function put(db: Database, values: readonly KeepValue[], { tx, under }: KeepOptions) {
  const rows = inOrder(values);
  const claim = under ? [under.runId, under.epoch, under.token] : [null, null, null];
  const [row] = await db.run<{ allowed: boolean }>(putKept, [...claim, ...VALUES.arrays(rows)], { tx });
  return { outcome: row!.allowed ? ("kept" as const) : ("lost" as const) };
}

/** Each key once, and in one order for all callers: two that write the same keys do not wait for each other. */
function inOrder(values: readonly KeepValue[]): readonly KeepValue[] {
  const last = new Map(values.map((value) => [JSON.stringify([value.env, value.space, value.key]), value]));
  return [...last].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}

function keptOf(row: Row | undefined): KeptValue | null {
  if (!row) return null;
  const { key, codec, data, at, until } = row;
  return { key, value: { codec, data }, at, until };
}
