// Inserts runs with dedupe keys: each with its key, or not at all when another run has it.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type { InsertAnswer } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { DataRefused } from "../connection/errors.js";
import { interval } from "../connection/instant.js";
import { oneOf, rowset } from "../connection/rowset.js";
import { freeKeys, holdersOf, KEY, type KeyedRun } from "../key/run-keys.js";
import { intoJournal, intoRuns, type PlacedRun, type Places, placed, RUN, UNIQUE_VIOLATION } from "./insert-runs.js";
import { afterLimitParts, hasMore, LIMITED, limitColumnsOf, limitParts } from "./limited-runs.js";

export const KEYED_RUNS = rowset<PlacedRun<KeyedRun>>()({ ...RUN, ...KEY });
export const LIMITED_KEYED_RUNS = rowset<PlacedRun<KeyedRun>>()({ ...RUN, ...KEY, ...LIMITED });

interface KeyedOptions {
  readonly limited: boolean;
  /** A run that exists already means a repeated call: it takes no key. Without this condition, such a run is a violation. */
  readonly mayBeThere: boolean;
  /** A further condition on a run that is `asked` for. */
  readonly only?: string;
}

/** Keys first, sorted (unsorted, eight nodes with the same keys deadlock); a run is inserted with its key or not at all. */
export const keyedParts = (d: Dialect, { limited, mayBeThere, only }: KeyedOptions) => {
  const absent = `(select r.id from ${d.schema}.runs r where r.id = asked.id limit 1) is null`;
  const conditions = [...(mayBeThere ? [absent] : []), ...(only ? [only] : [])];
  const onConflict = mayBeThere ? "on conflict do nothing" : "";
  const runs = limited ? LIMITED_KEYED_RUNS.from(1) : KEYED_RUNS.from(1);
  return `asked as materialized (
  select * from ${runs.as("n")}
), k as (
  insert into ${d.schema}.run_keys (hash, env, scope, key, run_id, payload_hash, lifetime, expires_at)
  select key_hash, env, scope, key, id, payload_hash, lifetime, t.now + ${interval("key_ms")} from asked, t
  ${conditions.length > 0 ? `where ${conditions.join(" and ")}` : ""}
  order by key_hash, position
  on conflict do nothing
  returning run_id
), new as materialized (
  select * from asked where ${oneOf("id", "select run_id from k")}
), r as (${intoRuns(d, onConflict, limited, true)}
)${limited ? limitParts(d, runs) : ""}, j as (${intoJournal(d, onConflict)}
)`;
};

/** The first parameter after those of `keyedParts` with limits. */
export const AFTER_LIMITED_KEYED_RUNS = afterLimitParts(LIMITED_KEYED_RUNS.from(1));

const keyedRuns = (d: Dialect, options: KeyedOptions) => `
with t as materialized (select ${d.now} as now
), ${keyedParts(d, options)}
select run_id from k`;

/** A key that is taken is no violation; a run that is there without its key would be one (see insertRuns). */
export const insertKeyedRuns = statement("insert_keyed_runs", "Inserts runs with keys that are certainly new.", (d) =>
  keyedRuns(d, { limited: false, mayBeThere: false }),
);
export const insertKeyedRunsAgain = statement(
  "insert_keyed_runs_again",
  "Inserts runs with keys of which some may be there already.",
  (d) => keyedRuns(d, { limited: false, mayBeThere: true }),
);
const insertLimitedKeyedRuns = statement(
  "insert_limited_keyed_runs",
  "Inserts runs with keys of which some have limits or attributes, or are deferred.",
  (d) => keyedRuns(d, { limited: true, mayBeThere: true }),
);

/** The runs that were inserted with their keys. */
async function takeKeys(
  db: Database,
  runs: readonly KeyedRun[],
  places: () => Promise<Places>,
  tx?: Transaction,
): Promise<{ run_id: string }[]> {
  const limited = runs.some(hasMore);
  const values = async () => {
    const rows = placed(runs, await places());
    return limited ? [...LIMITED_KEYED_RUNS.arrays(rows), ...limitColumnsOf(runs)] : KEYED_RUNS.arrays(rows);
  };
  if (!tx && !limited) {
    try {
      return await db.run(insertKeyedRuns, values);
    } catch (error) {
      if (!(error instanceof DataRefused) || error.sqlState !== UNIQUE_VIOLATION) throw error;
    }
  }
  return db.run(limited ? insertLimitedKeyedRuns : insertKeyedRunsAgain, values, { tx });
}

/** Returns answers only for those that were not inserted. */
export async function insertKeyed(
  db: Database,
  runs: readonly KeyedRun[],
  places: () => Promise<Places>,
  tx?: Transaction,
): Promise<Map<NewRun, InsertAnswer>> {
  const taken = new Map<NewRun, InsertAnswer>();
  const freed = new Set<string>();
  let open = runs;
  while (open.length > 0) {
    const rows = await takeKeys(db, open, places, tx);
    const inserted = new Set(rows.map((row) => row.run_id));
    const losers = open.filter((run) => !inserted.has(run.id));
    const holders = losers.length > 0 ? await holdersOf(db, losers, tx) : [];
    const stale: { run: KeyedRun; holder: string }[] = [];
    open = losers.filter((run, i) => {
      const holder = holders[i]!;
      if (holder.present || holder.run_id === run.id) return false;
      if (holder.run_id === null) return true;
      // Tried before and still there: it was taken in this very transaction of the caller's, which only it can end.
      if (holder.stale && !freed.has(holder.run_id)) return stale.push({ run, holder: holder.run_id });
      const same = holder.payload_hash === run.key.payloadHash || run.key.onMismatch === "skip";
      taken.set(run, { outcome: same ? "existing" : "conflict", runId: holder.run_id });
      return false;
    });
    if (stale.length > 0) await freeKeys(db, stale);
    for (const { holder } of stale) freed.add(holder);
  }
  return taken;
}
