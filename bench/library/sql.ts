// The limit: the same rows in Holdfast's tables, written by batched statements without an engine. At concurrency 1, one commit per step.

import { randomBytes, randomUUID } from "node:crypto";
import { postgres } from "holdfast/postgres";
import pg from "pg";
import { uuidv7 } from "../../src/kernel/id.js";
import { oneStepSql } from "../one-row-commits.js";
import { pendingSql } from "../pending.js";
import { type Input, type Library, type Opened, type Program, type Reports, STEP_RESULT } from "./library.js";

/** How many batches are on the way at the same time. */
const LANES = 2;
const MOST_IN_BATCH = 500;
const DATA = JSON.stringify(STEP_RESULT);

interface Claimed {
  readonly id: string;
  readonly epoch: string;
  readonly data: string;
}

/** In the order of time, as the library draws them: random ones would scatter each batch over the whole index. */
const newId = uuidv7(Date.now, (size) => randomBytes(size));

const insertSql = (s: string) => `with t as materialized (select clock_timestamp() as now),
  n as materialized (select * from unnest($3::uuid[], $2::text[]) as n (id, data)),
  r as (insert into ${s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at)
    select id, $1::int, 0, 'waiting', t.now, 5, t.now from n, t)
  insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
    select id, 1, 0, 'start', 'sql', 'json', data, t.now from n, t`;

const claimSql = (s: string) => `with p as materialized (
    select id from ${s}.runs where state = 'waiting' and claim_group = $1 and available_at <= (select clock_timestamp())
    order by priority, available_at limit (select $2::int) for no key update skip locked),
  c as (update ${s}.runs r set state = 'running', epoch = epoch + 1, token = $3, owner = $3, crashes = crashes + 1,
      lease_until = clock_timestamp() + interval '1 min'
    where r.id = any (array (select id from p)) returning r.id, r.epoch)
  select c.id, c.epoch, j.data from c join ${s}.journal j on j.run_id = c.id and j.seq = 1`;

const stepSql = (s: string) => `with f as (select * from unnest($1::uuid[], $2::bigint[]) as f (id, epoch)),
  ok as (update ${s}.runs r set seq = $4::bigint + 1, crashes = 0 from f
    where r.id = f.id and r.epoch = f.epoch and r.token = $3 and r.seq = $4 returning r.id, r.epoch)
  insert into ${s}.journal (run_id, seq, epoch, token, kind, name, codec, data, at)
    select id, $4::bigint + 1, epoch, $3, 'step', $5, 'json', $6, clock_timestamp() from ok`;

const endSql = (
  s: string,
) => `with f as (select * from unnest($1::uuid[], $2::bigint[], $5::text[]) as f (id, epoch, data)),
  ok as (update ${s}.runs r set seq = $4::bigint + 1, state = 'completed', token = null, owner = null, lease_until = null,
      ended_at = clock_timestamp() from f
    where r.id = f.id and r.epoch = f.epoch and r.token = $3 and r.seq = $4 returning r.id, r.epoch, f.data)
  insert into ${s}.journal (run_id, seq, epoch, token, kind, name, codec, data, at)
    select id, $4::bigint + 1, epoch, $3, 'completed', '', 'json', data, clock_timestamp() from ok`;

class Worker {
  readonly #pool: pg.Pool;
  readonly #schema: string;
  readonly #reports: Reports;
  stopped = false;

  constructor(pool: pg.Pool, schema: string, reports: Reports) {
    this.#pool = pool;
    this.#schema = schema;
    this.#reports = reports;
  }

  #query(name: string, sql: (schema: string) => string, values: unknown[]) {
    return this.#pool.query({ name: `${name}_${this.#schema}`, text: sql(this.#schema), values });
  }

  /** Claims a batch, executes it, ends it, until it is stopped. */
  async loop(group: number, size: number): Promise<void> {
    while (!this.stopped) {
      const token = randomUUID();
      const { rows } = await this.#query("claim", claimSql, [group, size, token]);
      if (rows.length > 0) await this.#execute(rows as Claimed[], token);
      else await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async #execute(runs: readonly Claimed[], token: string): Promise<void> {
    const inputs = runs.map(({ data }) => JSON.parse(data) as { program: Program; input: Input });
    for (const { input } of inputs) this.#reports.begun(input);
    const steps = inputs[0]!.program === "steps" ? Number(inputs[0]!.input) : 0;
    const ids = runs.map(({ id }) => id);
    const epochs = runs.map(({ epoch }) => epoch);
    for (let seq = 1; seq <= steps; seq++) {
      const values = [seq, `step${seq}`, DATA];
      if (ids.length > 1) await this.#query("step", stepSql, [ids, epochs, token, ...values]);
      else await this.#query("one_step", oneStepSql, [ids[0], epochs[0], token, ...values]);
    }
    for (const _ of runs) this.#reports.ended();
    const results = inputs.map(({ program, input }) => JSON.stringify(program === "echo" ? input : null));
    await this.#query("end", endSql, [ids, epochs, token, steps + 1, results]);
  }
}

async function open(url: string, schema: string, reports: Reports): Promise<Opened> {
  const store = postgres(url, { schema });
  await store.migrate();
  const [group] = await store.runs.groupIds([
    { env: "sql", stack: null, queue: "sql", program: "sql", version: null },
  ] as const);
  await store.close();
  const pool = new pg.Pool({ connectionString: url, max: 50 }).on("error", () => {});
  const insert = (program: Program, inputs: readonly Input[]) =>
    pool.query({
      name: `insert_${schema}`,
      text: insertSql(schema),
      values: [group, inputs.map((input) => JSON.stringify({ program, input })), inputs.map(newId)],
    });
  return {
    start: (program, input) => insert(program, [input]),
    startMany: insert,
    async work({ concurrency, purpose }) {
      const worker = new Worker(pool, schema, reports);
      const lanes = Math.min(LANES, concurrency);
      const size = purpose === "drain" ? MOST_IN_BATCH : Math.ceil(concurrency / lanes);
      const loops = Array.from({ length: lanes }, () => worker.loop(group!, size));
      return async () => {
        worker.stopped = true;
        await Promise.all(loops);
      };
    },
    close: () => pool.end(),
  };
}

export const library: Library = {
  name: "sql",
  packageName: null,
  programs: ["noop", "steps", "echo"],
  startsMany: true,
  settings: `no engine: ${LANES} batches at a time, of up to ${MOST_IN_BATCH} runs`,
  share: 1,
  pendingSql,
  open: ({ url, schema }, reports) => open(url, schema, reports),
};
