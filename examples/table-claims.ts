// Work claims in a plain table of any PostgreSQL database: copy it for a database of another kind.
import { randomUUID } from "node:crypto";
import type { Grant, WorkClaims } from "holdfast/lease";
import type pg from "pg";

export const tableSql = `create table if not exists work_claims (
  key text primary key, state text not null, owner text not null, epoch bigint not null, token uuid,
  ended_by uuid, attempt int not null, lease_until timestamptz not null, detail text)`;

/** `now` replaces the database's clock in a test that moves time. */
export function tableClaims(pool: pg.Pool, now = "clock_timestamp()"): WorkClaims {
  const isFree = `(c.state <> 'claimed' or c.lease_until <= ${now})`;
  const until = (parameter: string) => `${now} + ${parameter} * interval '1 millisecond'`;
  /** One conditional write: true when it was made, or had been made by this very grant. */
  const end = async (key: string, state: string, detail: string | null, { epoch, token }: Grant) => {
    const text = `update work_claims set state = $4, ended_by = $3, token = null, detail = $5
      where key = $1 and epoch = $2 and (token = $3 or ended_by = $3)`;
    return (await pool.query(text, [key, epoch, token, state, detail])).rowCount === 1;
  };
  return {
    async acquire(key, owner, { leaseMs }) {
      const token = randomUUID();
      const text = `with before as (select owner, state from work_claims where key = $1)
        insert into work_claims as c (key, state, owner, epoch, token, attempt, lease_until)
        values ($1, 'claimed', $2, 1, $3, 1, ${until("$4::float8")})
        on conflict (key) do update set state = 'claimed', owner = $2, epoch = c.epoch + 1, token = $3, ended_by = null,
          detail = null, attempt = case c.state when 'done' then 1 else c.attempt + 1 end, lease_until = ${until("$4::float8")}
        where ${isFree}
        returning epoch::float8 as epoch, attempt, (select owner from before where state = 'claimed') as stolen_from`;
      const [row] = (await pool.query(text, [key, owner, token, leaseMs])).rows;
      if (row) {
        const { epoch, attempt, stolen_from } = row as { epoch: number; attempt: number; stolen_from: string | null };
        return { ok: true, epoch, token, attempt, ...(stolen_from !== null && { stolenFrom: stolen_from }) };
      }
      const [held] = (await pool.query("select owner from work_claims where key = $1", [key])).rows;
      return { ok: false, ...(held && { owner: held.owner as string }) };
    },
    async renew(key, _owner, leaseMs, { epoch, token }) {
      const text = `update work_claims set lease_until = ${until("$4::float8")} where key = $1 and epoch = $2 and token = $3`;
      return (await pool.query(text, [key, epoch, token, leaseMs])).rowCount === 1;
    },
    complete: (key, _owner, grant) => end(key, "done", null, grant),
    fail: (key, _owner, detail, grant) => end(key, "failed", detail, grant),
    async reclaimExpired(limit) {
      const text = `update work_claims set token = null where key in (
          select key from work_claims where state = 'claimed' and token is not null and lease_until <= ${now}
          order by lease_until limit $1 for update skip locked)
        returning key, lease_until`;
      const { rows } = await pool.query(text, [limit]);
      return rows.sort((a, b) => a.lease_until - b.lease_until).map(({ key }) => key as string);
    },
  };
}
