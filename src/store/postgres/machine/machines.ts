// The store's operations on instances of state machines.

import type { RunGroup } from "../../../kernel/run/new-run.js";
import {
  type Append,
  INSTANCE_STATUSES,
  type InstanceEvent,
  type InstanceFilter,
  type InstancePage,
  type MachineStore,
  type NewInstance,
} from "../../contract/machine/machines.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { query, statement } from "../connection/dialect.js";
import { interval, ms } from "../connection/instant.js";
import { IDS } from "../connection/rowset.js";
import type { WakeSender } from "../connection/wake-sender.js";
import type { Groups } from "../run/groups.js";
import { byAge } from "../run/retain-runs.js";
import { append, create } from "./append-instances.js";
import { LOADED, type LoadedRow, loadedOf, RECORD, type RecordRow, recordOf } from "./instance-row.js";
import { claimDue, settle, TIMER_RECORD, type TimerRow, tell, timerOf } from "./timers.js";

export const loadInstances = statement(
  "load_instances",
  "Reads instances with their snapshots.",
  ({ schema: s }) => `
select x.* from ${IDS.from(1).as("w", "ord")}
left join lateral (
  select ${LOADED} from ${s}.instances i join ${s}.claim_groups g on g.id = i.claim_group where i.key = w.id limit 1
) x on true
order by w.ord`,
);

export const readEvents = statement(
  "read_instance_events",
  "Reads the events of an instance after a sequence.",
  ({ schema: s }) => `
select seq, kind, name, key, codec, data, by, ${ms("at")} as at from ${s}.instance_events
where instance = $1 and seq > $2 order by seq limit $3`,
);

const readTimers = statement(
  "read_timers",
  "Lists the timers of an instance.",
  ({ schema: s }) => `select ${TIMER_RECORD} from ${s}.timers x where x.instance = $1 order by x.due_at, x.id`,
);

const noteProblem = statement(
  "note_problem",
  "Stores the problem that stopped an instance.",
  ({ schema: s }) => `
update ${s}.instances set problem = $3 where key = $1 and seq = $2 and problem is distinct from $3 returning key`,
);

const retryTimers = statement(
  "retry_timers",
  "Makes the dead timers of an instance pending again.",
  ({ schema: s, now }) => `
update ${s}.timers set state = 'pending', attempts = 0, try_at = greatest(due_at, ${now}), claimed_until = null
where instance = $1 and state = 'dead' returning claim_group`,
);

export const pruneInstances = statement(
  "prune_instances",
  "Removes instances that ended long ago.",
  ({ schema: s, now }) => `
with found as materialized (
  select x.key from ${s}.claim_groups g
  cross join lateral ${s}.ended_instances(g.id, ${now} - ${interval("$2::float8")}, $3) x
  where g.env = $1 order by x.ended_at, x.key limit $3
), old as materialized (
  select i.key from ${s}.instances i where i.key = any(array(select key from found)) for update of i skip locked
), gone as (delete from ${s}.instances i where i.key = any(array(select key from old)) returning key
), events as (delete from ${s}.instance_events e where e.instance = any(array(select key from gone))
), timers as (delete from ${s}.timers x where x.instance = any(array(select key from gone))
)
select count(*)::int as removed from gone`,
);

interface EventRow extends Pick<InstanceEvent, "kind" | "name" | "key" | "by" | "at"> {
  seq: string;
  codec: string;
  data: string;
}

/** Other processes are woken for a deadline nearer than this: they look as often anyway. */
const SOON_MS = 5_000;

export function machineStore(db: Database, groups: Groups, wakes: WakeSender): MachineStore {
  return {
    async create(instances, { tx } = {}) {
      const answers = await create(db, groups, instances, tx);
      await inform(instances.filter((_, i) => answers[i]!.outcome === "created").flatMap(wokenBy), tx);
      return answers;
    },
    async append(appends) {
      const answers = await append(db, groups, appends);
      await inform(appends.filter((_, i) => answers[i]!.outcome === "accepted").flatMap(wokenBy), undefined);
      return answers;
    },
    async tell(told, { tx } = {}) {
      const answers = await tell(db, groups, told, tx);
      const there = told.filter(({ delayMs }, i) => answers[i]!.outcome === "accepted" && delayMs <= SOON_MS);
      await inform(
        there.map(({ group }) => group),
        tx,
      );
      return answers;
    },
    async load(keys, { tx } = {}) {
      const rows = await db.run<LoadedRow | { key: null }>(loadInstances, [keys], { tx });
      return rows.map((row) => (row.key === null ? null : loadedOf(row)));
    },
    async events(key, { after, limit }) {
      const rows = await db.run<EventRow>(readEvents, [key, after, limit]);
      return rows.map(({ seq, codec, data, ...row }) => ({ ...row, seq: Number(seq), payload: { codec, data } }));
    },
    async timers(key) {
      return (await db.run<TimerRow>(readTimers, [key])).map(timerOf);
    },
    claimTimers: (claim) => claimDue(db, groups, claim),
    settleTimers: (settlements) => settle(db, settlements),
    async note(key, seq, problem) {
      return (await db.run(noteProblem, [key, seq, problem])).length > 0;
    },
    async retryTimers(key) {
      const rows = await db.run<{ claim_group: number }>(retryTimers, [key]);
      wakes.send(rows.map(({ claim_group }) => claim_group));
      return rows.length;
    },
    list: (filter, page) => list(db, filter, page),
    prune: (age) => byAge(pruneInstances)(db, age),
  };

  async function inform(woken: readonly RunGroup[], tx: Transaction | undefined): Promise<void> {
    if (woken.length === 0) return;
    const ids = new Set(await groups.ids(woken));
    if (tx) await wakes.sendInTransaction(tx, ids, false);
    else wakes.send(ids);
  }
}

interface PageAsked {
  readonly filter: InstanceFilter;
  readonly limit: number;
  readonly before?: string;
}

/** Each group is one range of instances_created: of a million instances, a page is read and not all of them (1.1 s). */
const listInstances = query<PageAsked>({
  name: "list_instances",
  purpose: "Lists a page of instances, the newest first.",
  text({ schema: s }, { filter, limit, before }) {
    const statuses = INSTANCE_STATUSES.filter((known) => filter.statuses?.includes(known) ?? true);
    const values: unknown[] = [statuses, limit + 1, filter.env];
    const equal = (column: string, value: string | null | undefined) =>
      (value ?? null) === null ? "" : ` and ${column} = $${values.push(value)}`;
    const place = before === undefined ? null : `$${values.push(before)}::uuid`;
    const text = `
${place === null ? "" : `with b as materialized (select b.created_at, b.key from ${s}.instances b where b.key = ${place})`}
select i.* from ${s}.claim_groups g
cross join lateral (
  select ${RECORD}, i.created_at as made_at from ${s}.instances i
  where i.claim_group = g.id${equal("i.id", filter.id)} and i.status = any($1::text[])
    ${place === null ? "" : "and (i.created_at, i.key) < ((select created_at from b), (select key from b))"}
  order by i.created_at desc, i.key desc limit $2
) i
where g.env = $3${equal("g.stack", filter.stack)}${equal("g.program", filter.machine)}
order by i.made_at desc, i.key desc limit $2`;
    return { text, values };
  },
  samples: {
    "of an env": { filter: { env: "e" }, limit: 10 },
    "with every condition": { filter: { env: "e", stack: "s", machine: "m", id: "i" }, limit: 10, before: "b" },
  },
});

async function list(db: Database, filter: InstanceFilter, page: Omit<PageAsked, "filter">): Promise<InstancePage> {
  const { limit } = page;
  const rows = await db.runQuery<RecordRow, PageAsked>(listInstances, { filter, ...page });
  const instances = rows.slice(0, limit).map(recordOf);
  return { instances, next: rows.length > limit ? instances.at(-1)!.key : null };
}

/** The groups in which there is something to do, now or soon. */
function wokenBy({ group, timers, told, effects }: NewInstance | Append): RunGroup[] {
  const soon = timers.some(({ delayMs }) => delayMs <= SOON_MS) ? [group] : [];
  const others = told.filter(({ delayMs }) => delayMs <= SOON_MS).map((one) => one.group);
  return [...soon, ...others, ...effects.map((run) => run.group)];
}
