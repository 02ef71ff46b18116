// Everything a PostgreSQL store holds, in the shape of the memory store's snapshot.

import type pg from "pg";
import { ms } from "../../../src/store/postgres/connection/instant.js";
import type { Snapshot } from "./snapshot-memory.js";

const payload = (codec: string | null, data: string | null) => (codec === null ? null : { codec, data: data ?? "" });
const number = (value: string | null) => (value === null ? null : Number(value));

export async function snapshotPostgres(pool: pg.Pool, schema: string): Promise<Snapshot> {
  const rows = async (text: string) => (await pool.query(text.replaceAll("{s}", schema))).rows;
  const [runs, journal, inbox, keys, leases, nodes, limits, rates, pausedQueues, schedules, ...events] =
    await Promise.all(READS.map(rows));
  const [subscriptions, debounces, probes, keptModes, deferred, timeouts, definitions, versions, needs, ...machines] =
    events;
  const [instances, instanceEvents, timers, takenClaims, misfits, kept] = machines;
  return {
    runs: runs!.map(({ env, stack, queue, program, version, ...run }) => ({
      ...run,
      group: { env, stack: stack || null, queue, program, version: version || null },
      epoch: Number(run.epoch),
      seq: Number(run.seq),
      baseSeq: Number(run.baseSeq),
      inboxSeq: Number(run.inboxSeq),
    })),
    journal: journal!.map(({ codec, data, ...entry }) => ({
      ...entry,
      seq: Number(entry.seq),
      epoch: Number(entry.epoch),
      payload: payload(codec, data),
    })),
    misfits: misfits!,
    takenClaims: takenClaims!.map((row) => ({ ...row, epoch: Number(row.epoch) })),
    inbox: inbox!.map(({ codec, data, ...message }) => ({
      ...message,
      payload: payload(codec, data),
      takenSeq: number(message.takenSeq),
    })),
    keys: keys!,
    leases: leases!.map((lease) => ({ ...lease, epoch: Number(lease.epoch) })),
    nodes: nodes!,
    limits: limits!,
    rates: rates!,
    pausedQueues: pausedQueues!,
    schedules: schedules!.map(({ env, stack, queue, program, version, pausedAt, pausedBy, ...schedule }) => ({
      ...schedule,
      group: { env, stack: stack || null, queue, program, version: version || null },
      paused: pausedAt === null ? null : { at: pausedAt, by: pausedBy },
    })),
    subscriptions: subscriptions!.map(({ forMs, threshold, halfOpenMs, ...row }) => ({
      ...row,
      stack: row.stack || null,
      version: row.version || null,
      subject: row.subject === null ? null : JSON.parse(row.subject),
      lifetime: row.lifetime === "timed" ? { forMs } : row.lifetime,
      breaker: threshold === null ? null : { threshold, halfOpenMs },
    })),
    debounces: debounces!.map(({ codec, data, ...row }) => ({ ...row, payload: payload(codec, data)! })),
    probes: probes!,
    kept: kept!.map(({ codec, data, ...row }) => ({ ...row, value: payload(codec, data)! })),
    keptModes: keptModes!,
    deferred: deferred!,
    timeouts: timeouts!.map((row) => ({ ...row, sequence: Number(row.sequence) })),
    definitions: definitions!,
    definitionVersions: versions!,
    needs: needs!,
    instances: instances!.map(({ env, stack, queue, program, codec, data, ...row }) => ({
      ...row,
      group: { env, stack: stack || null, queue, program, version: null },
      seq: Number(row.seq),
      snapshotSeq: Number(row.snapshotSeq),
      redact: JSON.parse(row.redact),
      snapshot: payload(codec, data)!,
    })),
    instanceEvents: instanceEvents!.map(({ codec, data, ...row }) => ({
      ...row,
      seq: Number(row.seq),
      payload: payload(codec, data)!,
    })),
    timers: timers!.map(({ codec, data, ...row }) => ({
      ...row,
      generation: Number(row.generation),
      payload: payload(codec, data)!,
    })),
  };
}

/** Text is ordered by code, as the memory store does. */
const READS = [
  `select r.id, g.env, g.stack, g.queue, g.program, g.version, r.state, r.priority, ${ms("available_at")} as "availableAt",
    ${ms("wake_at")} as "wakeAt", r.epoch, r.owner, r.token, ${ms("lease_until")} as "leaseUntil", r.seq,
    r.base_seq as "baseSeq", r.generation, r.inbox_seq as "inboxSeq", r.failures, r.crashes, r.crash_limit as "crashLimit", r.recovery,
    r.parent_id as "parentId", (select count(*)::int from {s}.reclaimed_claims k where k.run_id = r.id) as recoveries,
    (select k.owner from {s}.reclaimed_claims k where k.run_id = r.id order by k.epoch desc limit 1) as "recoveredFrom",
    ${ms("created_at")} as "createdAt", ${ms("ended_at")} as "endedAt",
    ${ms("archived_at")} as "archivedAt", r.wake_after as "wakeAfter", r.pending, r.counts, r.pausing
   , (select json_build_object('by', f.by, 'expiresAt', ${ms("f.expires_at")}, 'takenBy', f.taken_by, 'takenAt', ${ms("f.taken_at")})
      from {s}.deferred_runs f where f.run_id = r.id) as deferred
   , (select json_build_object('builds', r.misfits, 'wanted', (select wanted from {s}.misfit_runs m where m.run_id = r.id))
      where r.misfits is not null) as misfit
   , (select json_object_agg(a.name, a.value::json) from {s}.run_attributes a where a.run_id = r.id) as attributes
   from {s}.runs r join {s}.claim_groups g on g.id = r.claim_group order by r.id`,
  `select run_id as "runId", seq, epoch, token, kind, name, key, codec, data, ${ms("at")} as at
   from {s}.journal order by run_id, seq`,
  `select run_id as "runId", key, message_id as "messageId", kind, name, codec, data, sender, ${ms("at")} as at,
    taken_seq as "takenSeq" from {s}.inbox order by run_id, id`,
  `select env, scope, key, run_id as "runId", payload_hash as "payloadHash", lifetime, ${ms("expires_at")} as until
   from {s}.run_keys order by env collate "C", scope collate "C", key collate "C"`,
  `select env, key, state, owner, epoch, token, finished_token as "finishedToken", attempt, detail,
    ${ms("lease_until")} as "leaseUntil", ${ms("acquired_at")} as "acquiredAt", ${ms("finished_at")} as "finishedAt"
   from {s}.leases order by env collate "C", key collate "C"`,
  `select incarnation, identity, name, env, stack, build, alone, ${ms("started_at")} as "startedAt", ${ms("seen_at")} as "seenAt",
    ${ms("stopped_at")} as "stoppedAt", heartbeat_ms::float8 as "heartbeatMs", lease_ms::float8 as "leaseMs",
    presence_grace_ms::float8 as "presenceGraceMs",
    mode, overrides, drain, vitals from {s}.nodes order by incarnation`,
  `select run_id as "runId", stage, key, kind, max, per_ms as "perMs", overflow, state, priority, ${ms("available_at")} as "availableAt"
   from {s}.run_limits order by run_id, stage`,
  `select key, ${ms("next_at")} as "nextAt" from {s}.limit_rates order by key`,
  `select env, queue, ${ms("at")} as at, by from {s}.paused_queues order by env collate "C", queue collate "C"`,
  `select id, env, stack, queue, program, version, key, spec, ${ms("anchor")} as anchor, ${ms("last_at")} as last,
    ${ms("next_at")} as next, ${ms("paused_at")} as "pausedAt", paused_by as "pausedBy", ${ms("seen_at")} as "seenAt"
   from {s}.schedules order by env collate "C", program collate "C", key collate "C", stack collate "C"`,
  `select env, id, scope, stack, event, program, queue, version, filters as "where", subject, debounce_ms as "debounceMs", lifetime,
    key_ms as "forMs", crash_limit as "crashLimit", threshold, half_open_ms as "halfOpenMs",
    array(select incarnation::text from {s}.subscribers b where (b.env, b.subscription) = (u.env, u.id) order by 1) as by
   from {s}.subscriptions u order by env collate "C", id`,
  `select env, subscription, subject, run_id as "runId", ${ms("last_at")} as "lastAt", codec, data
   from {s}.debounces order by env collate "C", subscription, subject`,
  `select env, program, opening, n, run_id as "runId", ${ms("at")} as at
   from {s}.breaker_probes order by env collate "C", program collate "C", opening collate "C", n::text collate "C"`,
  `select env, identity, mode, overrides, ${ms("at")} as at, by from {s}.kept_modes order by env collate "C", identity collate "C"`,
  `select run_id as "runId", pending from {s}.deferred_runs order by run_id`,
  `select env, scope, instance, generation, state, sequence, ${ms("deadline")} as deadline, ${ms("due_at")} as "dueAt",
    ${ms("created_at")} as "createdAt", attempts, claimed_by as "claimedBy", ${ms("claimed_until")} as "claimedUntil", token,
    released_token as "releasedToken", due_at is null as dead, problem from {s}.timeouts order by env collate "C", scope collate "C", instance`,
  `select env, kind, name, version, enabled, body, by, ${ms("at")} as at
   from {s}.definitions order by env collate "C", kind collate "C", name collate "C"`,
  `select env, kind, name, version, body, programs
   from {s}.definition_versions order by env collate "C", kind collate "C", name collate "C", version`,
  `select need_id as "needId", run_id as "runId" from {s}.run_needs order by need_id, run_id`,
  `select i.key, i.id, g.env, g.stack, g.queue, g.program, i.version, i.status, i.seq, i.snapshot_seq as "snapshotSeq", i.value,
    i.redact, i.problem, i.codec, i.data, i.input_hash as "inputHash", ${ms("i.created_at")} as "createdAt",
    ${ms("i.updated_at")} as "updatedAt", ${ms("i.ended_at")} as "endedAt"
   from {s}.instances i join {s}.claim_groups g on g.id = i.claim_group order by i.key`,
  `select instance, seq, token, kind, name, key, codec, data, by, ${ms("at")} as at from {s}.instance_events order by instance, seq`,
  `select id, instance as "instanceKey", generation, kind, name, codec, data, ${ms("due_at")} as "dueAt", ${ms("try_at")} as "tryAt",
    ${ms("claimed_until")} as "claimedUntil", attempts, state, problem from {s}.timers order by id`,
  `select run_id as "runId", epoch, owner, by, outcome, counted, losses, refused, ${ms("at")} as at from {s}.reclaimed_claims order by run_id, epoch`,
  `select run_id as "runId", wanted, ${ms("look_at")} as "lookAt" from {s}.misfit_runs order by run_id`,
  `select env, space, key, codec, data, ${ms("at")} as at, ${ms("until")} as until
   from {s}.kept_values order by env collate "C", space collate "C", key`,
];
