// Tables as a busy installation has them, made by SQL, and the hot statements with values that fit them.

import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Effect } from "../../../src/kernel/run/effect.js";
import type { NewRun } from "../../../src/kernel/run/new-run.js";
import type { ClaimedRun, Commit } from "../../../src/store/contract/run/runs.js";
import { claimRuns } from "../../../src/store/postgres/claim/claim-runs.js";
import {
  commitRuns,
  commitRunsAndMore,
  commitTasks,
  commitTasksAndMore,
} from "../../../src/store/postgres/claim/commit.js";
import {
  commitAndMoreColumns,
  commitColumns,
  refusedColumns,
} from "../../../src/store/postgres/claim/commit-columns.js";
import { commitEntry } from "../../../src/store/postgres/claim/commit-entry.js";
import { readClaims } from "../../../src/store/postgres/claim/read-claims.js";
import { reclaimRuns } from "../../../src/store/postgres/claim/reclaim.js";
import { reclaimExpired } from "../../../src/store/postgres/claim/reclaim-expired.js";
import { endCrashedTask } from "../../../src/store/postgres/claim/reclaimed.js";
import { refusedCommits } from "../../../src/store/postgres/claim/refused-commits.js";
import { renewClaims } from "../../../src/store/postgres/claim/renew-claims.js";
import type { Statement } from "../../../src/store/postgres/connection/dialect.js";
import { columnsFor, gatherEvents } from "../../../src/store/postgres/event/debounce-events.js";
import { settleDebounced } from "../../../src/store/postgres/event/settle-debounced.js";
import { startEvents } from "../../../src/store/postgres/event/start-events.js";
import { matchEvents } from "../../../src/store/postgres/event/subscriptions.js";
import { sendMessages } from "../../../src/store/postgres/inbox/send-messages.js";
import { wakeParked } from "../../../src/store/postgres/inbox/wake-parked.js";
import { wakeRunsStatement } from "../../../src/store/postgres/inbox/wake-runs.js";
import { glanceRuns, peekJournals } from "../../../src/store/postgres/journal/peek-journals.js";
import { lastSetEntry, readJournal } from "../../../src/store/postgres/journal/read-journal.js";
import { getKept, listKept, putKept } from "../../../src/store/postgres/kept/kept.js";
import { findRunOfKey } from "../../../src/store/postgres/key/run-keys.js";
import { readBreakers } from "../../../src/store/postgres/limit/breakers.js";
import { housekeepingRound } from "../../../src/store/postgres/node/housekeep.js";
import { endClaims, reclaimClaimsOf } from "../../../src/store/postgres/node/nodes.js";
import { cancelTasks } from "../../../src/store/postgres/run/cancel-run.js";
import type { Groups } from "../../../src/store/postgres/run/groups.js";
import {
  insertKeyedRuns,
  insertKeyedRunsAgain,
  KEYED_RUNS,
} from "../../../src/store/postgres/run/insert-keyed-runs.js";
import {
  insertLimitedRuns,
  insertRuns,
  LIMITED_RUNS,
  type PlacedRun,
  RUNS,
} from "../../../src/store/postgres/run/insert-runs.js";
import { limitColumnsOf } from "../../../src/store/postgres/run/limited-runs.js";
import { nextDue } from "../../../src/store/postgres/run/next-due.js";
import { pauseRun } from "../../../src/store/postgres/run/pause-run.js";
import { retryRuns } from "../../../src/store/postgres/run/retry-runs.js";
import { reviewDue, reviewFor } from "../../../src/store/postgres/run/review-misfits.js";
import { setRunAttributes } from "../../../src/store/postgres/run/run-attributes.js";
import { stopProgress } from "../../../src/store/postgres/run/stop-requests.js";
import { fireColumns, fireSchedules } from "../../../src/store/postgres/schedule/fire-schedules.js";
import { dueSchedules } from "../../../src/store/postgres/schedule/schedules.js";
import { findRunsWithTasks, leaveTasks } from "../../../src/store/postgres/task/leave-tasks.js";
import { retryTasks } from "../../../src/store/postgres/task/retry-tasks.js";
import {
  claimTimeouts,
  completeTimeouts,
  releaseTimeouts,
} from "../../../src/store/postgres/timeout/claim-timeouts.js";
import { deadTimeouts, expiredTimeouts } from "../../../src/store/postgres/timeout/timeouts.js";
import { append, complete, newRun } from "../scene.js";
import { fillMachines, MACHINE_TABLES, machineStatements } from "./planner-machines.js";

/** Of each: running with a lease, running without, parked with a message. */
export const HELD = 500;
const OWNER = "00000000-0000-4000-8000-00000000aaaa";
const TOKEN = "00000000-0000-4000-8000-00000000bbbb";

/** Ids are md5 of a name, so that both sides know them. */
const idOf = (kind: string, n: number) => `md5('${kind}' || ${n})::uuid`;

export async function withoutAutovacuum(pool: pg.Pool, schema: string): Promise<void> {
  const { rows } = await pool.query("select tablename from pg_tables where schemaname = $1", [schema]);
  for (const { tablename } of rows)
    await pool.query(`alter table ${schema}.${tablename} set (autovacuum_enabled = off)`);
}

export async function fill(pool: pg.Pool, s: string, size: { ended: number; waiting: number }): Promise<void> {
  const runs = (kind: string, from: string, count: number, state: string, claim = "null, null, null") =>
    pool.query(`insert into ${s}.runs (id, claim_group, priority, state, available_at, created_at, crash_limit, ended_at, token, owner, lease_until)
      select md5('${kind}' || n)::uuid, 1 + n % 4, n % 3, '${state}', now() + ${from}, now(), 5,
        case when '${state}' in ('completed', 'failed') then now() end, ${claim} from generate_series(1, ${count}) n`);
  await pool.query(`insert into ${s}.claim_groups (id, env, stack, queue, program, version)
    select n, 'test', '', 'q' || n, 'p', '' from generate_series(1, 4) n on conflict do nothing`);
  await runs("ended", "interval '0'", size.ended, "completed");
  // Half of them sleep: they are in the claim's index, and must not be read past.
  await runs(
    "waiting",
    "case when n % 8 < 4 then interval '1 hour' else interval '-1 hour' end",
    size.waiting,
    "waiting",
  );
  const claim = (lease: string) => `'${TOKEN}'::uuid, '${OWNER}'::uuid, now() + interval '${lease}'`;
  await runs("held", "interval '0'", HELD, "running", claim("1 hour"));
  await runs("expired", "interval '0'", HELD, "running", claim("-1 hour"));
  await runs("parked", "interval '0'", HELD, "parked");
  await fillTasks(pool, s, runs, claim("1 hour"));
  await runs("failed", "interval '0'", HELD, "failed");
  await pool.query(`insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
    select id, 1, 0, 'start', 'p', 'json', '{}', now() from ${s}.runs where state <> 'completed'`);
  const messages = (kind: string, count: number, taken: string) =>
    pool.query(`insert into ${s}.inbox (run_id, key, message_id, kind, name, at, taken_seq)
      select md5('${kind}' || n)::uuid, 'k', md5('m' || n)::uuid, 'signal', 'go', now(), ${taken} from generate_series(1, ${count}) n`);
  await messages("waiting", Math.min(size.waiting, 100_000), "2");
  await messages("parked", HELD, "null");
  await messages("held", HELD, "null");
  // Ids as those of parked runs, so that the same ones are asked for.
  await pool.query(`insert into ${s}.schedules (id, env, stack, program, key, queue, version, spec, anchor, last_at, next_at, seen_at)
    select md5('parked' || n)::uuid, 'test', '', 'p', 'every ' || n, 'p', '', '{}', now(), to_timestamp(0), now(), now()
    from generate_series(1, 5000) n`);
  await pool.query(`insert into ${s}.run_keys (hash, env, scope, key, run_id, payload_hash, lifetime)
    select md5('key-' || n)::uuid, 'test', 's', 'key-' || n, md5('waiting' || n)::uuid, 'h', 'live' from generate_series(1, ${Math.min(size.waiting, 100_000)}) n`);
  await pool.query(`insert into ${s}.reclaimed_claims (run_id, epoch, owner, outcome, at, counted, losses)
    select md5('ended' || n)::uuid, 1, '${OWNER}', 'waiting', now(), true, 0 from generate_series(1, 20000) n`);
  await pool.query(
    `update ${s}.runs r set misfits = array['v1'] from generate_series(1, ${HELD}) n where r.id = md5('parked' || n)::uuid`,
  );
  await pool.query(`insert into ${s}.misfit_runs (run_id, env, claim_group, look_at)
    select md5('parked' || n)::uuid, 'test', 1 + n % 4, now() + case when n <= ${HELD} then interval '-1 hour' else interval '1 hour' end
    from generate_series(1, 20000) n`);
  await pool.query(`insert into ${s}.kept_values (env, space, key, codec, data, at)
    select 'test', 'store:s', 'k' || g, 'json', '1', now() from generate_series(1, 5000) g`);
  await pool.query(`insert into ${s}.run_attributes (run_id, name, value, claim_group)
    select md5('ended' || n)::uuid, 'region', '"eu"', 1 + n % 4 from generate_series(1, 20000) n`);
  await fillEvents(pool, s);
  await fillTimeouts(pool, s);
  await fillMachines(pool, s);
}

/**
 * Tasks of parked runs, each needed by two others, among many needs of runs that have ended; and such as wait to be claimed, before
 * all others.
 */
async function fillTasks(
  pool: pg.Pool,
  s: string,
  runs: (kind: string, from: string, count: number, state: string, claim?: string) => Promise<unknown>,
  claim: string,
): Promise<void> {
  await runs("task", "interval '0'", HELD, "running", claim);
  await runs("blocked", "interval '0'", 2 * HELD, "blocked");
  await pool.query(`update ${s}.runs r set counts = true, parent_id = md5('parked' || n)::uuid
    from generate_series(1, ${HELD}) n where r.id = md5('task' || n)::uuid`);
  await pool.query(`update ${s}.runs set pending = 1 where state in ('blocked', 'parked')`);
  await pool.query(`insert into ${s}.run_needs select md5('task' || n)::uuid, md5('blocked' || n + k * ${HELD})::uuid
    from generate_series(1, ${HELD}) n, generate_series(0, 1) k`);
  await pool.query(
    `insert into ${s}.run_needs select md5('ended' || n)::uuid, md5('ended' || n + 1)::uuid from generate_series(1, 20000) n`,
  );
  await pool.query(`update ${s}.runs r set counts = true, parent_id = md5('parked' || n)::uuid, priority = -1,
      available_at = now() - interval '2 hours'
    from generate_series(1, ${HELD}) n where r.id = md5('waiting' || n)::uuid`);
  await pool.query(`insert into ${s}.run_needs select md5('ended' || n)::uuid, md5('waiting' || n)::uuid
    from generate_series(1, ${HELD}) n on conflict do nothing`);
}

/** Ten for each of a thousand events, and as many subjects that gather; the groups of other programs. */
async function fillEvents(pool: pg.Pool, s: string): Promise<void> {
  await pool.query(`insert into ${s}.claim_groups (id, env, stack, queue, program, version)
    select 1000 + n, 'test', '', 'other-' || n, 'other-' || n, '' from generate_series(1, 5000) n on conflict do nothing`);
  await pool.query(`insert into ${s}.subscriptions (env, id, scope, stack, event, program, queue, version, filters, lifetime, crash_limit)
    select 'test', 'p on ' || n, 'p on ' || n, '', 'event-' || n % 1000, 'p', 'q1', '',
      case when n % 2 = 0 then '{}' else array['{"kind": "disk"}'::jsonb] end, 'archived', 5 from generate_series(1, 10000) n`);
  await pool.query(`insert into ${s}.debounces (env, subscription, subject, run_id, last_at, codec, data)
    select 'test', 'p on 1', 'subject-' || n, md5('waiting' || n)::uuid, now(), 'json', '{}' from generate_series(1, 10000) n`);
}

/** Half of them far away; generations as the ids of held runs, so that the same ones are asked for. */
async function fillTimeouts(pool: pg.Pool, s: string): Promise<void> {
  await pool.query(`insert into ${s}.timeouts (env, scope, instance, generation, state, sequence, deadline, due_at, created_at, attempts,
      token, claimed_by, claimed_until)
    select 'test', 'order', 'i' || n, md5('held' || n)::uuid, 'pending', 1, d, d, now(), 0, c, case when n % 4 = 0 then 'me' end,
      case when n % 4 = 0 then d end
    from generate_series(1, 20000) n, lateral (select now() + case when n % 2 = 0 then interval '-1 hour' else interval '1 hour' end) t(d),
      lateral (select case when n % 4 = 0 then '${TOKEN}'::uuid end) u(c)`);
}

export async function analyze(pool: pg.Pool, s: string): Promise<void> {
  await pool.query(`vacuum analyze ${s}.runs, ${s}.journal, ${s}.inbox, ${s}.run_keys, ${s}.claim_groups, ${s}.run_needs, ${s}.reclaimed_claims, ${s}.misfit_runs, ${s}.run_attributes,
    ${s}.subscriptions, ${s}.debounces, ${s}.timeouts, ${MACHINE_TABLES.map((table) => `${s}.${table}`).join(", ")}`);
}

export interface HotStatement {
  readonly statement: Statement;
  readonly values: unknown[];
  /** Rows of `runs` it may read in addition to a small multiple of its batch. */
  readonly alsoReads: number;
  /** Small tables that it is right to read from end to end. */
  readonly readsWhole?: readonly string[];
}

export async function hotStatements(pool: pg.Pool, batch: number): Promise<HotStatement[]> {
  const [held, parked, troubled, tasks] = await Promise.all([
    idsOf(pool, "held", batch),
    idsOf(pool, "parked", batch),
    idsOf(pool, "failed", batch),
    idsOf(pool, "task", batch),
  ]);
  const claims = held.map((runId): ClaimedRun => ({ runId, epoch: 0, token: TOKEN, seq: 1 }) as ClaimedRun);
  const commits = (...effects: Effect[]) => claims.map((claim): Commit => ({ claim, expectedSeq: 1, effects }));
  const plain = commits(append("a"), complete);
  const more = claims.map((claim, i): Commit => {
    const effects: Effect[] = [
      { kind: "take", messageKey: "k" },
      { kind: "enqueue", name: "c", run: newRun({ limits: [{ kind: "slots", key: "slots child", max: 5 }] }) },
      append("a"),
      ...(i % 4 === 0 ? [{ kind: "misfit", build: "v1", reason: { codec: "json", data: "{}" } } as const] : []),
    ];
    return { claim, expectedSeq: 1, effects };
  });
  const runs = Array.from({ length: batch }, () => newRun());
  const limits = [{ kind: "slots", key: "slots new", max: 5 } as const];
  const limited = Array.from({ length: batch }, () => newRun({ limits }));
  const hot = (statement: Statement, values: unknown[], alsoReads = 0): HotStatement => ({
    statement,
    values,
    alsoReads,
  });
  const nulls = held.map(() => null);
  const fires = limited.map((run, i) => ({
    scheduleId: parked[i]!,
    seenLast: 0,
    last: 1,
    next: null,
    runs: [run],
    probe: { runId: run.id, env: "test", program: "p", opening: `x${i}`, probe: 1 },
  }));
  return [
    ...[null, 0, 1].map((suspects) => {
      const values = [randomUUID(), randomUUID(), [1, 2, 3, 4], batch, 1000, suspects, ["v1", OWNER], suspects && 1e9];
      return hot({ ...claimRuns, name: `claim_runs_${suspects}` }, values, 3 * batch);
    }),
    { ...hot(renewClaims, [held, held.map(() => 0), held.map(() => TOKEN), 1000]), readsWhole: ["nodes"] },
    hot(commitRuns, commitColumns(plain)),
    hot(commitEntry, [held[0], 0, TOKEN, 1, "step", "a", null, "json", "1"]),
    // Only for a misfit: reads the nodes whose code wrote last or may fit.
    {
      ...hot(commitRunsAndMore, await commitAndMoreColumns(ONE_GROUP, more)),
      readsWhole: ["nodes"],
    },
    { ...hot(reviewDue, ["test", batch], 3 * batch), readsWhole: ["nodes"] },
    { ...hot(reviewFor, ["test", batch, OWNER], 3 * batch), readsWhole: ["nodes"] },
    ...(await taskStatements(tasks)),
    hot(nextDue, [[1, 2, 3, 4], null]),
    hot({ ...nextDue, name: "next_due_recent" }, [[1, 2, 3, 4], 1e9]),
    hot(retryRuns, [troubled, false, "ann", randomUUID(), null, null, false, false]),
    hot(retryTasks, [troubled, "ann", randomUUID(), null, true]),
    hot(findRunsWithTasks, [troubled]),
    hot(leaveTasks, [troubled]),
    hot(cancelTasks, [parked[0], "ann", "{}"]),
    hot(pauseRun, [parked[0], "ann"]),
    hot(stopProgress, [parked[0]]),
    hot(endCrashedTask, [tasks[0], 0, true, "dead", OWNER, 5]),
    { statement: readClaims, values: [held[0], 20], alsoReads: 0, readsWhole: ["nodes"] },
    hot(refusedCommits, refusedColumns(plain)),
    hot(insertRuns, RUNS.arrays(inGroupOne(runs))),
    hot(insertLimitedRuns, [...LIMITED_RUNS.arrays(inGroupOne(limited)), ...limitColumnsOf(limited)]),
    hot(insertKeyedRuns, KEYED_RUNS.arrays(inGroupOne(runs.map(withKey)))),
    hot(insertKeyedRunsAgain, KEYED_RUNS.arrays(inGroupOne(runs.map(withKey)))),
    hot(dueSchedules, [parked]),
    hot(fireSchedules, fireColumns(inGroupOne(limited.map(withKey)), fires)),
    // All running runs, twice (expired leases, requests), all messages and all parked runs that have some. No run is deferred here.
    {
      ...hot(housekeepingRound, [OWNER, "test", 60_000, false, true, [], null], 10 * HELD),
      readsWhole: ["nodes", "deferred_runs"],
    },
    { ...hot(reclaimRuns, [OWNER, "test", 60_000, false, batch], 3 * HELD), readsWhole: ["nodes"] },
    hot(endClaims, [[OWNER]], 10 * HELD),
    hot(reclaimExpired, [batch, "test"], 3 * HELD),
    hot(reclaimClaimsOf, [[OWNER], batch, OWNER], 3 * HELD),
    hot(wakeParked, [batch], 3 * HELD),
    hot(wakeRunsStatement, [parked, parked.map(() => 1)]),
    hot(sendMessages, [
      parked,
      parked.map((_, i) => `new-${i}`),
      parked.map(() => randomUUID()),
      parked.map(() => "signal"),
      parked.map(() => "go"),
      nulls,
      nulls,
      nulls,
    ]),
    hot(readJournal, [held[0], 0, null]),
    hot(findRunOfKey, [held[0]]),
    hot(lastSetEntry, [held[0], "status"]),
    hot(getKept, ["test", "store:s", "k100"]),
    hot(listKept, ["test", "store:s", "k100", batch]),
    hot(putKept, [
      ...[held[0], 1, TOKEN, held.map(() => "test"), held.map(() => "store:s"), held.map((_, i) => `k${i}`)],
      ...[held.map((_, i) => (i % 2 ? null : "json")), held.map((_, i) => (i % 2 ? null : "1")), nulls],
    ]),
    hot(setRunAttributes, [held[0], ["region", "cents"], [null, "1"]]),
    ...(await eventStatements(batch, held[0]!)),
    ...(await machineStatements(pool, ONE_GROUP, batch)),
    hot(expiredTimeouts, ["test", "order", batch]),
    hot(claimTimeouts, [held, held.map(() => randomUUID()), held.map(() => "me"), held.map(() => 1000)]),
    hot(completeTimeouts, [held, held.map(() => TOKEN)]),
    hot(releaseTimeouts, [held, held.map(() => TOKEN), held.map(() => 1000), held.map(() => false), nulls]),
    hot(deadTimeouts, ["test", "order", "", batch]),
  ];
}

/** Per task: the row itself, its parent and the two that need it, each looked up, locked and written. */
async function taskStatements(ids: readonly string[]): Promise<HotStatement[]> {
  const claims = ids.map((runId): ClaimedRun => ({ runId, epoch: 0, token: TOKEN, seq: 1 }) as ClaimedRun);
  const ends = claims.map((claim): Commit => ({ claim, expectedSeq: 1, effects: [append("a"), complete] }));
  const starts = claims.map((claim): Commit => {
    const [a, b] = [newRun(), newRun()];
    const task = (run: NewRun, needs: string[]): Effect => ({ kind: "enqueue", name: "t", run, task: { needs } });
    return { claim, expectedSeq: 1, effects: [task(a, []), task(b, [a.id]), complete] };
  });
  const reads = 12 * ids.length;
  return [
    { statement: commitTasks, values: commitColumns(ends), alsoReads: reads },
    {
      statement: commitTasksAndMore,
      values: await commitAndMoreColumns(ONE_GROUP, starts),
      alsoReads: reads,
      readsWhole: ["nodes"],
    },
    { statement: peekJournals, values: [ids, ids.map(() => true)], alsoReads: 0 },
    { statement: glanceRuns, values: [ids], alsoReads: 0 },
  ];
}

async function eventStatements(batch: number, held: string): Promise<HotStatement[]> {
  const each = <T>(value: (i: number) => T) => Array.from({ length: batch }, (_, i) => value(i));
  const matched = [each(() => "test"), each(() => ""), each((i) => `event-${i}`), each(() => '{"kind":"disk"}')];
  const started = [
    ...matched,
    ...[each(() => newRun().id), each((i) => `key-${i}`), each(() => "h"), each(() => "json"), each(() => "{}")],
  ];
  const gathered = each((i) => ({
    run: newRun(),
    // Half of them exist already.
    ticket: { subscription: "p on 1", subject: `subject-${i % 2 === 0 ? "new-" : ""}${i + 1}`, windowMs: 1000 },
  }));
  const asked = [each(() => "test"), each(() => "p"), each(() => 5), each(() => 1000)];
  return [
    // Ten subscriptions each.
    { statement: matchEvents, values: matched, alsoReads: 10 * batch },
    { statement: startEvents, values: started, alsoReads: 10 * batch },
    { statement: gatherEvents, values: await columnsFor(ONE_GROUP, gathered, () => 0)(), alsoReads: 0 },
    { statement: settleDebounced, values: [held, 0, TOKEN, 1, "p on 1", "subject-1", 1000], alsoReads: 0 },
    // Of each of the program's four groups, some of its last ends.
    { statement: readBreakers, values: asked, alsoReads: 4 * 6 * batch, readsWhole: ["claim_groups"] },
  ];
}

export const ONE_GROUP = { ids: async (groups: readonly unknown[]) => groups.map(() => 1) } as unknown as Groups;

function inGroupOne<Run extends NewRun>(runs: readonly Run[]): PlacedRun<Run>[] {
  return runs.map((run, position) => ({ run, group: 1, position }));
}

function withKey(run: NewRun, i: number) {
  const key = {
    scope: randomUUID(),
    key: `fresh-${i}`,
    payloadHash: "h",
    lifetime: "live",
    onMismatch: "conflict",
  } as const;
  return { ...run, key };
}

async function idsOf(pool: pg.Pool, kind: string, count: number): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select ${idOf(kind, 0).replace("0)", "n)")} as id from generate_series(1, ${count}) n`,
  );
  return rows.map((row) => row.id);
}
