// Inserts runs without a dedupe key: one statement writes their rows and their first journal entries.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type { Database, RunOptions } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { DataRefused } from "../connection/errors.js";
import { interval } from "../connection/instant.js";
import { type Columns, float8, int, oneOf, rowset, text, uuid } from "../connection/rowset.js";
import type { Groups } from "./groups.js";
import { hasMore, LIMITED, limitColumnsOf, limitParts } from "./limited-runs.js";

export const UNIQUE_VIOLATION = "23505";

/** A run with the number of its claim group, and its place in the batch it came with. */
export interface PlacedRun<Run extends NewRun = NewRun> {
  readonly run: Run;
  readonly group: number;
  readonly position: number;
}

export const RUN = {
  id: uuid(({ run }) => run.id),
  claim_group: int(({ group }) => group),
  priority: int(({ run }) => run.priority),
  delay_ms: float8(({ run }) => run.delayMs),
  crash_limit: int(({ run }) => run.crashLimit),
  parent_id: uuid(({ run }) => run.parentId ?? null),
  name: text(({ run }) => run.group.program),
  codec: text(({ run }) => run.input.codec),
  data: text(({ run }) => run.input.data),
  position: int(({ position }) => position),
  recovery: text(({ run }) => run.recovery ?? null),
} satisfies Columns<PlacedRun>;

export const RUNS = rowset<PlacedRun>({ folds: true })(RUN);
export const LIMITED_RUNS = rowset<PlacedRun>({ folds: true })({ ...RUN, ...LIMITED });

/** From a CTE `new`. Runs of one batch keep its order: one microsecond apart. `keyed`: with the hashes of their keys. */
export const intoRuns = ({ schema: s }: Dialect, onConflict: string, limited: boolean, keyed = false) => `
  insert into ${s}.runs (id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
    recovery)
  select id, claim_group, priority, ${limited ? "case when limited then 'held' else 'waiting' end" : "'waiting'"},
    t.now + ${interval("delay_ms + position * 0.001")}, crash_limit, parent_id, t.now, ${limited ? "limited" : "false"},
    ${keyed ? "key_hash" : "null"}, recovery
  from new, t ${onConflict}${limited || onConflict ? "\n  returning id" : ""}`;

/**
 * With ON CONFLICT only for runs that this statement inserted (`r`): clean-up may have removed the first entry of one that was
 * there, and then nothing conflicts.
 */
export const intoJournal = ({ schema: s }: Dialect, onConflict: string) => `
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now from new, t ${onConflict && `where ${oneOf("id", "select id from r")} ${onConflict}`}`;

const plainRuns = (d: Dialect, onConflict: string, limited: boolean) => {
  const runs = limited ? LIMITED_RUNS.from(1) : RUNS.from(1);
  return `
with t as materialized (select ${d.now} as now
), new as materialized (
  select * from ${runs.as("n")}
), r as (${intoRuns(d, onConflict, limited)}
)${limited ? limitParts(d, runs) : ""}${intoJournal(d, onConflict)}`;
};

/** Ids are new, so nothing can conflict: without ON CONFLICT a batch of 1,000 takes 8.5 ms instead of 12.6. */
export const insertRuns = statement("insert_runs", "Inserts runs that are certainly new.", (d) =>
  plainRuns(d, "", false),
);

/** For a call that may be a repeat, and in a caller's transaction, where a violation would abort it. */
export const insertRunsAgain = statement("insert_runs_again", "Inserts runs of which some may be there already.", (d) =>
  plainRuns(d, "on conflict do nothing", false),
);

/** For a batch in which a run has limits or attributes or is deferred: rare enough to be treated like a repeat. */
export const insertLimitedRuns = statement(
  "insert_limited_runs",
  "Inserts runs of which some have limits or attributes, or are deferred.",
  (d) => plainRuns(d, "on conflict do nothing", true),
);

/** Whether a run is certain to be inserted, and can be claimed then. */
export const isPlain = (run: NewRun): boolean => run.key === undefined && !hasMore(run);

export async function insertPlain(
  db: Database,
  runs: readonly NewRun[],
  places: () => Promise<Places>,
  options: Pick<RunOptions, "tx" | "behind">,
): Promise<void> {
  if (runs.some(hasMore)) {
    const values = async () => [...LIMITED_RUNS.arrays(placed(runs, await places())), ...limitColumnsOf(runs)];
    await db.run(insertLimitedRuns, values, options);
    return;
  }
  const columns = async () => RUNS.arrays(placed(runs, await places()));
  if (!options.tx) {
    try {
      await db.run(insertRuns, columns, options);
      return;
    } catch (error) {
      if (!(error instanceof DataRefused) || error.sqlState !== UNIQUE_VIOLATION) throw error;
    }
  }
  await db.run(insertRunsAgain, columns, options);
}

export type Places = ReadonlyMap<NewRun, PlacedRun>;

export function placed<Run extends NewRun>(runs: readonly Run[], places: Places): PlacedRun<Run>[] {
  return runs.map((run) => places.get(run) as PlacedRun<Run>);
}

/** A batch of its own, in its order. */
export async function place<Run extends NewRun>(groups: Groups, runs: readonly Run[]): Promise<PlacedRun<Run>[]> {
  const ids = await groups.ids(runs.map(({ group }) => group));
  return runs.map((run, i) => ({ run, group: ids[i]!, position: i }));
}
