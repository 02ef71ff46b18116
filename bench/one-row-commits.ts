// The yardsticks: what the same machine does without batching. One row per commit, and one commit per step.

import { randomUUID } from "node:crypto";
import type pg from "pg";

/** Single-row INSERTs, each its own commit, `connections` at a time. */
export async function oneRowCommits(pool: pg.Pool, schema: string, total: number, connections: number) {
  let left = total;
  const text = `insert into ${schema}.bench_rows (id, data) values ($1, $2)`;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = await pool.connect();
      while (left-- > 0) {
        await client.query({ name: `bench_one_row_${schema}`, text, values: [randomUUID(), '{"value":"twenty"}..'] });
      }
      client.release();
    }),
  );
  return total;
}

/** One step of one run as one fenced statement: run, epoch, token, expected sequence, name, data. */
export const oneStepSql = (schema: string) => `with ok as (
    update ${schema}.runs set seq = seq + 1, crashes = 0
    where id = $1 and epoch = $2 and token = $3 and seq = $4 returning id, seq)
    insert into ${schema}.journal (run_id, seq, epoch, token, kind, name, codec, data, at)
    select id, seq, $2, $3, 'step', $5, 'json', $6, clock_timestamp() from ok returning seq`;

/**
 * The same lifecycle without a lane: every step is one fenced statement with a commit of its own, over `connections`.
 * Claims are taken in batches, as ours are; only the steps and the completion go one by one.
 */
export async function oneCommitPerStep(
  pool: pg.Pool,
  schema: string,
  options: { runs: number; steps: number; inFlight: number },
) {
  const step = oneStepSql(schema);
  const end = `with ok as (
    update ${schema}.runs set seq = seq + 1, state = 'completed', token = null, owner = null, lease_until = null,
      ended_at = clock_timestamp()
    where id = $1 and epoch = $2 and token = $3 and seq = $4 returning id, seq)
    insert into ${schema}.journal (run_id, seq, epoch, token, kind, name, codec, data, at)
    select id, seq, $2, $3, 'completed', '', 'json', $5, clock_timestamp() from ok returning seq`;
  const claim = `with p as materialized (
    select id from ${schema}.runs where state = 'waiting' order by priority, available_at limit $1 for no key update skip locked)
    update ${schema}.runs r set state = 'running', epoch = epoch + 1, token = $2, owner = $2, crashes = crashes + 1,
      lease_until = clock_timestamp() + interval '1 min'
    from p where r.id = p.id returning r.id, r.epoch, r.seq`;
  let left = options.runs;
  const ready: { id: string; epoch: string; seq: string; token: string }[] = [];
  let claiming: Promise<void> | null = null;
  const fill = async () => {
    const token = randomUUID();
    const n = Math.min(options.inFlight, left);
    left -= n;
    const { rows } = await pool.query({ name: `bench_claim_${schema}`, text: claim, values: [n, token] });
    for (const row of rows) ready.push({ ...row, token });
  };
  const worker = async () => {
    for (;;) {
      while (ready.length === 0) {
        if (left <= 0 && !claiming) return;
        claiming ??= fill().finally(() => {
          claiming = null;
        });
        await claiming;
      }
      const { id, epoch, seq, token } = ready.pop()!;
      let at = Number(seq);
      for (let i = 1; i <= options.steps; i++, at++) {
        const values = [id, epoch, token, at, `step${i}`, '{"value":"twenty"}..'];
        await pool.query({ name: `bench_step_${schema}`, text: step, values });
      }
      await pool.query({
        name: `bench_end_${schema}`,
        text: end,
        values: [id, epoch, token, at, '{"value":"twenty"}..'],
      });
    }
  };
  await Promise.all(Array.from({ length: options.inFlight }, worker));
  return options.runs * options.steps;
}
