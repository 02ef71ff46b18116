// Named leases: one row per key, acquired, renewed and finished by single conditional statements.

import type {
  AcquireAnswer,
  AcquireRequest,
  LeaseFence,
  LeaseRecord,
  LeaseStore,
} from "../../contract/lease/leases.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { interval, ms } from "../connection/instant.js";

const COLUMNS = (now: string) => `
  l.env, l.key, l.owner, l.epoch::float8, coalesce(l.token::text, l.finished_token::text, '') as token, l.attempt,
  case when l.state = 'claimed' and l.lease_until <= ${now} then 'expired' else l.state end as state,
  ${ms("l.lease_until")} as "leaseUntil", ${ms("l.acquired_at")} as "acquiredAt", ${ms("l.finished_at")} as "finishedAt", l.detail`;

/** Whether the row is held under the very token that asks. */
const MINE = "l.token is not distinct from excluded.token";

/**
 * Takes the key when it is new, finished, or expired; a steal and a failure raise the attempt, an orderly end
 * sets it back. A repeated call with the token that holds it, after its expiry, renews it without other changes. The previous
 * owner is read first, under the row's lock: the count makes the INSERT wait for that. A new key begins above the epochs of
 * all keys that were removed: it may have been one of them.
 */
const acquireLease = statement(
  "acquire_lease",
  "Acquires a lease if it is new, finished or expired.",
  ({ schema: s, now }) => `
with before as materialized (
  select * from ${s}.leases where env = $1 and key = $2 for no key update
), t as materialized (select ${now} as now
), taken as (
  insert into ${s}.leases as l (env, key, state, owner, epoch, token, attempt, lease_until, acquired_at)
  select $1, $2, 'claimed', $3, (select last_value from ${s}.lease_floor) + 1, $4::uuid, 1, t.now + ${interval("$5::float8")}, t.now from t
  where (select count(*) from before) >= 0
  on conflict (env, key) do update
  set state = 'claimed', owner = case when ${MINE} then l.owner else excluded.owner end,
      epoch = l.epoch + case when ${MINE} then 0 else 1 end, token = excluded.token, finished_token = null,
      attempt = case when ${MINE} then l.attempt when l.state = 'done' then 1 else l.attempt + 1 end,
      lease_until = excluded.lease_until,
      acquired_at = case when ${MINE} then l.acquired_at else excluded.acquired_at end, finished_at = null, detail = null
  where l.state <> 'claimed' or l.lease_until <= excluded.acquired_at
  returning l.*
)
select taken.epoch, taken.attempt, before.owner as before_owner, before.state as before_state, before.token as before_token,
  before.epoch as before_epoch, before.attempt as before_attempt,
  ceil(extract(epoch from before.lease_until - t.now) * 1000)::float8 as left_ms
from t left join taken on true left join before on true`,
);

/** Also after the lease has expired, as long as no other owner took it: the token is still the owner's then. */
const renewLease = statement(
  "renew_lease",
  "Renews a lease.",
  ({ schema: s, now }) => `
update ${s}.leases set lease_until = ${now} + ${interval("$5::float8")}
where env = $1 and key = $2 and epoch = $3 and token = $4 returning key`,
);

/** The finisher's token stays, so that the same call repeated finds its own effect. */
const finishLease = statement(
  "finish_lease",
  "Ends a lease as done or failed.",
  ({ schema: s, now }) => `
with done as (
  update ${s}.leases set state = $5, detail = $6, token = null, finished_token = $4, finished_at = ${now}
  where env = $1 and key = $2 and epoch = $3 and token = $4 and state = 'claimed'
  returning key
)
select key from done
union all
select key from ${s}.leases where env = $1 and key = $2 and epoch = $3 and finished_token = $4 and state = $5`,
);

const ownsLease = statement(
  "owns_lease",
  "Checks that a token still holds a lease.",
  ({ schema: s, now }) => `
select key from ${s}.leases where env = $1 and key = $2 and epoch = $3 and token = $4 and lease_until > ${now}`,
);

/** Removes the late owner's token; the row stays claimed and expired, so the next acquire is a steal. */
const reclaimLeases = statement(
  "reclaim_leases",
  "Takes expired leases from their owners.",
  ({ schema: s, now }) => `
with over as materialized (
  select env, key from ${s}.leases
  where env = $1 and state = 'claimed' and token is not null and lease_until <= (select ${now})
  order by lease_until, key limit $2
  for no key update skip locked
), freed as (
  update ${s}.leases l set token = null, finished_token = null from over o
  where l.env = o.env and l.key = o.key and l.state = 'claimed' and l.lease_until <= (select ${now})
  returning l.*
)
select ${COLUMNS(now)} from freed l order by l.lease_until, l.key`,
);

const getLease = statement(
  "get_lease",
  "Reads one lease.",
  ({ schema: s, now }: Dialect) => `select ${COLUMNS(now)} from ${s}.leases l where l.env = $1 and l.key = $2`,
);

interface AcquireRow {
  epoch: string | null;
  attempt: number;
  before_owner: string | null;
  before_state: string;
  before_token: string | null;
  before_epoch: string;
  before_attempt: number;
  left_ms: number;
}

export function leaseStore(db: Database): LeaseStore {
  const finish = async (fence: LeaseFence, state: "done" | "failed", detail: string | null) =>
    (await db.run(finishLease, [...valuesOf(fence), state, detail])).length > 0;
  return {
    acquire: (request) => acquire(db, request),
    async renew(fence, leaseMs) {
      const options = { line: "renewals", once: true, timeoutMs: Math.max(leaseMs / 3, 250) } as const;
      return (await db.run(renewLease, [...valuesOf(fence), leaseMs], options)).length > 0;
    },
    complete: (fence) => finish(fence, "done", null),
    async fail(fence, detail) {
      return finish(fence, "failed", detail);
    },
    release: (fence) => finish(fence, "done", null),
    async owns(fence) {
      return (await db.run(ownsLease, valuesOf(fence))).length > 0;
    },
    async reclaimExpired({ env, limit }) {
      if (limit < 1) return [];
      return db.run<LeaseRecord>(reclaimLeases, [env, limit]);
    },
    async get(env, key) {
      const [lease] = await db.run<LeaseRecord>(getLease, [env, key]);
      return lease ?? null;
    },
  };
}

async function acquire(db: Database, request: AcquireRequest): Promise<AcquireAnswer> {
  const { env, key, owner, token, leaseMs } = request;
  for (;;) {
    const [row] = await db.run<AcquireRow>(acquireLease, [env, key, owner, token, leaseMs]);
    const { epoch, attempt, before_owner, before_state } = row!;
    const mine = row!.before_token === token;
    if (epoch !== null) {
      const lease = { key, owner: mine ? before_owner! : owner, epoch: Number(epoch), token, attempt };
      const stolen = before_owner !== null && before_state === "claimed" && !mine;
      return stolen ? { outcome: "stolen", lease, previousOwner: before_owner } : { outcome: "acquired", lease };
    }
    // Another owner inserted the key between our read and our insert: read again.
    if (before_owner === null) continue;
    if (mine) {
      return {
        outcome: "acquired",
        lease: { key, owner: before_owner, epoch: Number(row!.before_epoch), token, attempt: row!.before_attempt },
      };
    }
    return { outcome: "busy", owner: before_owner, leftMs: row!.left_ms };
  }
}

function valuesOf(fence: LeaseFence): unknown[] {
  return [fence.env, fence.key, fence.epoch, fence.token];
}
