// Instances of state machines, as a store keeps them.

import { type BatchLimits, inBatches } from "../../../kernel/chunk.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { World } from "../../../kernel/world.js";
import { checkAge, checkPage } from "../../check/filter.js";
import { checkInstanceFilter } from "../../check/machine/instance-filter.js";
import { checkInteger, checkText, checkUuid, refuse } from "../../check/value.js";
import {
  type Append,
  type AppendAnswer,
  type Change,
  type CreateAnswer,
  INSTANCE_STATUSES,
  type InstanceEvent,
  type MachineStore,
  type NewInstance,
} from "../../contract/machine/machines.js";
import type { Transaction } from "../../contract/transaction.js";
import { unnest } from "../connection/batch.js";
import { callLane } from "../connection/call-lane.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import type { Hints } from "../connection/hints.js";
import { interval, ms } from "../connection/instant.js";
import type { Groups } from "../run/groups.js";
import { append, create } from "./append-instances.js";
import { LOADED, type LoadedRow, loadedOf, RECORD, type RecordRow, recordOf } from "./instance-row.js";
import { claimDue, settle, TIMER_RECORD, type TimerRow, tell, timerOf } from "./timers.js";

export const loadInstances = statement(
  "load_instances",
  ({ schema: s }) => `
select x.* from ${unnest(1, ["uuid"])} with ordinality as w(key, ord)
left join lateral (
  select ${LOADED} from ${s}.instances i join ${s}.claim_groups g on g.id = i.claim_group where i.key = w.key limit 1
) x on true
order by w.ord`,
);

export const readEvents = statement(
  "read_instance_events",
  ({ schema: s }) => `
select seq, kind, name, key, codec, data, by, ${ms("at")} as at from ${s}.instance_events
where instance = $1 and seq > $2 order by seq limit $3`,
);

const readTimers = statement(
  "read_timers",
  ({ schema: s }) => `select ${TIMER_RECORD} from ${s}.timers x where x.instance = $1 order by x.due_at, x.id`,
);

const noteProblem = statement(
  "note_problem",
  ({ schema: s }) => `
update ${s}.instances set problem = $3 where key = $1 and seq = $2 and problem is distinct from $3 returning key`,
);

const retryTimers = statement(
  "retry_timers",
  ({ schema: s, now }) => `
update ${s}.timers set state = 'pending', attempts = 0, try_at = greatest(due_at, ${now}), claimed_until = null
where instance = $1 and state = 'dead' returning claim_group`,
);

const pruneInstances = statement(
  "prune_instances",
  ({ schema: s, now }) => `
with found as materialized (
  select x.key from ${s}.claim_groups g
  cross join lateral (
    select i.key, i.ended_at from ${s}.instances i
    where i.claim_group = g.id and i.ended_at <= (select ${now}) - ${interval("$2::float8")}
    order by i.ended_at limit $3
  ) x
  where g.env = $1 order by x.ended_at, x.key limit $3
), old as materialized (
  select i.key from ${s}.instances i where i.key = any(array(select key from found)) for update of i skip locked
), gone as (delete from ${s}.instances i where i.key = any(array(select key from old)) returning key
), events as (delete from ${s}.instance_events e where e.instance = any(array(select key from gone))
), timers as (delete from ${s}.timers x where x.instance = any(array(select key from gone))
)
select key from gone`,
);

interface EventRow extends Pick<InstanceEvent, "kind" | "name" | "key" | "by" | "at"> {
  seq: string;
  codec: string;
  data: string;
}

/** A nearer deadline than this is told to other processes: they look so often anyway. */
const SOON_MS = 5_000;

const CHANGE_LIMITS: BatchLimits<Change> = {
  maxRows: 1000,
  maxBytes: 4 * 1024 * 1024,
  sizeOf: (one) => ({
    rows: (one?.events?.length ?? 1) + (one?.effects?.length ?? 0) + (one?.timers?.length ?? 0),
    bytes: bytesOf(one),
  }),
};
const TOLD_LIMITS = { maxRows: 1000, maxBytes: 4 * 1024 * 1024, sizeOf: () => ({ rows: 1, bytes: 1000 }) };

export function machineStore(db: Database, groups: Groups, world: World, hints: Hints): MachineStore {
  const appendLane = callLane<Append, AppendAnswer>(
    async (appends) => {
      const answers = await inBatches(appends, CHANGE_LIMITS, (batch) => append(db, groups, batch as Append[]));
      const written = appends.filter((_, i) => answers[i]!.outcome === "accepted");
      hints.tell(await groups.ids(written.flatMap(wokenBy)));
      return answers;
    },
    { ...CHANGE_LIMITS, world },
  );
  const createIn = async (instances: readonly NewInstance[], tx?: Transaction) => {
    const answers = await inBatches(instances, CHANGE_LIMITS, (batch) =>
      create(db, groups, batch as NewInstance[], tx),
    );
    await inform(instances.filter((_, i) => answers[i]!.outcome === "created").flatMap(wokenBy), tx);
    return answers;
  };
  // Many that are started at once are one statement, as their appends are.
  const createLane = callLane<NewInstance, CreateAnswer>((instances) => createIn(instances), {
    ...CHANGE_LIMITS,
    world,
  });
  return {
    create: (instances, { tx } = {}) => (tx ? createIn(instances, tx) : createLane(instances)),
    append: (appends) => appendLane(appends),
    async tell(told, { tx } = {}) {
      const answers = await inBatches(told, TOLD_LIMITS, (batch) => tell(db, groups, batch, tx));
      const there = told.filter(({ delayMs }, i) => answers[i]!.outcome === "accepted" && delayMs <= SOON_MS);
      await inform(
        there.map(({ group }) => group),
        tx,
      );
      return answers;
    },
    async load(keys, { tx } = {}) {
      for (const key of keys) refuse(checkUuid("key", key));
      const rows = await db.run<LoadedRow | { key: null }>(loadInstances, [keys], { tx });
      return rows.map((row) => (row.key === null ? null : loadedOf(row)));
    },
    async events(key, { after, limit }) {
      refuse(checkUuid("key", key) ?? checkInteger("after", after, 0, Number.MAX_SAFE_INTEGER));
      refuse(checkInteger("limit", limit, 1));
      const rows = await db.run<EventRow>(readEvents, [key, after, limit]);
      return rows.map(({ seq, codec, data, ...row }) => ({ ...row, seq: Number(seq), payload: { codec, data } }));
    },
    async timers(key) {
      refuse(checkUuid("key", key));
      return (await db.run<TimerRow>(readTimers, [key])).map(timerOf);
    },
    claimTimers: (claim) => claimDue(db, groups, claim),
    settleTimers: (settlements) => settle(db, settlements),
    async note(key, seq, problem) {
      refuse(checkUuid("key", key) ?? checkInteger("seq", seq, 1, Number.MAX_SAFE_INTEGER));
      refuse(checkText("problem", problem));
      return (await db.run(noteProblem, [key, seq, problem])).length > 0;
    },
    async retryTimers(key) {
      refuse(checkUuid("key", key));
      const rows = await db.run<{ claim_group: number }>(retryTimers, [key]);
      hints.tell(rows.map(({ claim_group }) => claim_group));
      return rows.length;
    },
    list: (filter, page) => list(db, filter, page),
    async prune(age) {
      refuse(checkAge(age));
      const { env, endedBeforeMs, limit } = age;
      return limit < 1 ? 0 : (await db.run(pruneInstances, [env, endedBeforeMs, limit])).length;
    },
  };

  async function inform(woken: readonly RunGroup[], tx: Transaction | undefined): Promise<void> {
    if (woken.length === 0) return;
    const ids = new Set(await groups.ids(woken));
    if (tx) await hints.tellInTransaction(tx, ids, false);
    else hints.tell(ids);
  }
}

const list: (db: Database, ...args: Parameters<MachineStore["list"]>) => ReturnType<MachineStore["list"]> = async (
  db,
  filter,
  page,
) => {
  refuse(checkInstanceFilter(filter) ?? checkPage(page));
  const { schema: s } = db.dialect;
  const { limit, before } = page;
  const statuses = INSTANCE_STATUSES.filter((known) => filter.statuses?.includes(known) ?? true);
  // Each group is one range of instances_created: of a million instances, a page is read and not all of them (1.1 s).
  // Only what is asked for stands in the text: one plan is made for all values.
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
  const rows = await db.runText<RecordRow>("list_instances", text, values);
  const instances = rows.slice(0, limit).map(recordOf);
  return { instances, next: rows.length > limit ? instances.at(-1)!.key : null };
};

/** Where somebody may have something to do, now or soon. */
function wokenBy({ group, timers, told, effects }: NewInstance | Append): RunGroup[] {
  const soon = timers.some(({ delayMs }) => delayMs <= SOON_MS) ? [group] : [];
  const others = told.filter(({ delayMs }) => delayMs <= SOON_MS).map((one) => one.group);
  return [...soon, ...others, ...effects.map((run) => run.group)];
}

function bytesOf(change: Change): number {
  const events = (change?.events ?? []).reduce((sum, { payload }) => sum + (payload?.data?.length ?? 0), 0);
  const effects = (change?.effects ?? []).reduce((sum, { input }) => sum + (input?.data?.length ?? 0), 0);
  return events + effects + (change?.snapshot?.data?.length ?? 0);
}
