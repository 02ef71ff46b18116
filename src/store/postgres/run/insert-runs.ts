// Inserts runs, each once, under its dedupe key if it has one.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type { InsertAnswer } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { DataRefused } from "../connection/errors.js";
import { interval } from "../connection/instant.js";
import { bool, type Columns, float8, type HasColumns, int, oneOf, rowset, text, uuid } from "../connection/rowset.js";
import { freeKeys, holdersOf, KEY, type KeyedRun } from "../key/run-keys.js";
import { isLimited, LIMITS, limitColumns } from "../limit/limit-columns.js";
import { DEFERRALS, deferralColumns, intoDeferred, isDeferred } from "./deferred-runs.js";
import type { Groups } from "./groups.js";

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

export const LIMITED = { limited: bool(({ run }) => isLimited(run)) } satisfies Columns<PlacedRun>;

export const RUNS = rowset<PlacedRun>()(RUN);
export const LIMITED_RUNS = rowset<PlacedRun>()({ ...RUN, ...LIMITED });
export const KEYED_RUNS = rowset<PlacedRun<KeyedRun>>()({ ...RUN, ...KEY });
export const LIMITED_KEYED_RUNS = rowset<PlacedRun<KeyedRun>>()({ ...RUN, ...KEY, ...LIMITED });

/** From a CTE `new`. Runs of one batch keep its order: one microsecond apart. `keyed`: with the hashes of their keys. */
export const intoRuns = ({ schema: s }: Dialect, onConflict: string, limited: boolean, keyed = false) => `
  insert into ${s}.runs (id, claim_group, priority, state, available_at, crash_limit, parent_id, created_at, limited, key_hash,
    recovery)
  select id, claim_group, priority, ${limited ? "case when limited then 'held' else 'waiting' end" : "'waiting'"},
    t.now + ${interval("delay_ms + position * 0.001")}, crash_limit, parent_id, t.now, ${limited ? "limited" : "false"},
    ${keyed ? "key_hash" : "null"}, recovery
  from new, t ${onConflict}${limited ? "\n  returning id" : ""}`;
export const intoJournal = ({ schema: s }: Dialect, onConflict: string) => `
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
  select id, 1, 0, 'start', name, codec, data, t.now from new, t ${onConflict}`;

/** Only for runs that this statement inserted (`r`): a place in line without a held run would belong to no run. */
const intoLimits = ({ schema: s }: Dialect, runs: LimitedParameters) => `
  insert into ${s}.run_limits (run_id, stage, key, kind, max, per_ms, overflow, state, priority, available_at)
  select ${runs.at("id", "l.run")}, l.stage, l.key, l.kind, l.max, l.per_ms, l.overflow,
    case l.stage when 1 then 'waits' else 'later' end, case l.kind when 'serial' then 0 else ${runs.at("priority", "l.run")} end,
    t.now + ${interval(`${runs.at("delay_ms", "l.run")} + ${runs.at("position", "l.run")} * 0.001`)}
  from ${LIMITS.from(runs.next).as("l")}, t
  where ${oneOf(runs.at("id", "l.run"), "select id from r")}`;

type LimitedParameters = HasColumns<"id" | "priority" | "delay_ms" | "position">;

/** Limits and deferrals, which few runs have, each in a table of its own. Their parameters follow those of the runs. */
export const limitParts = (d: Dialect, runs: LimitedParameters) => `, l as (${intoLimits(d, runs)}
), f as (${intoDeferred(d, runs, LIMITS.from(runs.next).next)}
)`;

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

/** For a batch in which a run has limits or is deferred: rare enough to be treated like a repeat. */
export const insertLimitedRuns = statement(
  "insert_limited_runs",
  "Inserts runs of which some have limits or are deferred.",
  (d) => plainRuns(d, "on conflict do nothing", true),
);

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
export const AFTER_LIMITED_KEYED_RUNS = DEFERRALS.from(LIMITS.from(LIMITED_KEYED_RUNS.from(1).next).next).next;

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
  "Inserts runs with keys of which some have limits or are deferred.",
  (d) => keyedRuns(d, { limited: true, mayBeThere: true }),
);

/** Inserts a batch; of runs with one id the first counts. Without a transaction of the caller's, it may be repeated. */
export async function insert(
  db: Database,
  groups: Groups,
  runs: readonly NewRun[],
  tx?: Transaction,
): Promise<readonly InsertAnswer[]> {
  const first = new Map<string, NewRun>();
  for (const run of runs) if (!first.has(run.id)) first.set(run.id, run);
  if (first.size === runs.length) return send(db, groups, runs, tx);
  const once = [...first.values()];
  const sent = await send(db, groups, once, tx);
  const answers = new Map(once.map((run, i) => [run.id, sent[i]!]));
  return runs.map((run) => answers.get(run.id)!);
}

async function send(db: Database, groups: Groups, runs: readonly NewRun[], tx?: Transaction): Promise<InsertAnswer[]> {
  // Asked again for every attempt of a statement: the numbers of groups are the server's.
  const places = async (): Promise<Places> => {
    const groupIds = await groups.ids(runs.map((run) => run.group));
    return new Map(runs.map((run, i) => [run, { run, group: groupIds[i]!, position: i }]));
  };
  const plain = runs.filter((run) => !run.key);
  const keyed = runs.filter((run): run is KeyedRun => run.key !== undefined);
  if (plain.length > 0) await sendPlain(db, plain, places, tx);
  const taken = await sendKeyed(db, keyed, places, tx);
  return runs.map((run) => taken.get(run) ?? { outcome: "inserted", runId: run.id });
}

async function sendPlain(
  db: Database,
  runs: readonly NewRun[],
  places: () => Promise<Places>,
  tx?: Transaction,
): Promise<void> {
  if (runs.some(hasMore)) {
    const values = async () => [...LIMITED_RUNS.arrays(placed(runs, await places())), ...limitColumnsOf(runs)];
    await db.run(insertLimitedRuns, values, { tx });
    return;
  }
  const columns = async () => RUNS.arrays(placed(runs, await places()));
  if (!tx) {
    try {
      await db.run(insertRuns, columns);
      return;
    } catch (error) {
      if (!(error instanceof DataRefused) || error.sqlState !== UNIQUE_VIOLATION) throw error;
    }
  }
  await db.run(insertRunsAgain, columns, { tx });
}

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
async function sendKeyed(
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

type Places = ReadonlyMap<NewRun, PlacedRun>;

function placed<Run extends NewRun>(runs: readonly Run[], places: Places): PlacedRun<Run>[] {
  return runs.map((run) => places.get(run) as PlacedRun<Run>);
}

/** A batch of its own, in its order. */
export async function place<Run extends NewRun>(groups: Groups, runs: readonly Run[]): Promise<PlacedRun<Run>[]> {
  const ids = await groups.ids(runs.map(({ group }) => group));
  return runs.map((run, i) => ({ run, group: ids[i]!, position: i }));
}

const hasMore = (run: NewRun) => isLimited(run) || isDeferred(run);

/** The parameters of `limitParts`. */
export function limitColumnsOf(runs: readonly NewRun[]): unknown[][] {
  return [...limitColumns(runs), ...deferralColumns(runs)];
}
