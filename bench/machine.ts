// `npm run bench -- machine`: sends to many instances against one-row commits, sends to one, how late timers are, and what a million
// pending ones cost; the same of timeouts.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { assign, setup } from "xstate";
import { createClient } from "../src/client/create-client.js";
import { createNode } from "../src/client/create-node.js";
import { machine } from "../src/machine/index.js";
import { openPostgres } from "../src/store/postgres/open.js";
import { interleave, median, rate } from "./measure.js";
import { oneRowCommits } from "./one-row-commits.js";
import { pendingTimeouts } from "./timeouts-pending.js";

interface Options {
  readonly quick: boolean;
  readonly say: (line: string) => void;
}

interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly atLeast?: number;
  readonly atMost?: number;
}

const counters = machine(
  "counter",
  setup({ types: {} as { context: { n: number }; events: { type: "ADD"; n: number } } }).createMachine({
    context: { n: 0 },
    initial: "counting",
    states: {
      counting: {
        after: { 3600000: "over" },
        on: { ADD: { actions: assign({ n: ({ context, event }) => context.n + event.n }) } },
      },
      over: {},
    },
  }),
);

const timed = machine(
  "timed",
  setup({
    types: {} as { input: { ms: number }; context: { ms: number }; events: { type: "NOTHING" } },
    delays: { wait: ({ context }) => context.ms },
  }).createMachine({
    context: ({ input }) => input,
    initial: "waits",
    states: { waits: { after: { wait: "rang" } }, rang: {} },
  }),
);

interface Bench {
  readonly schema: string;
  readonly store: ReturnType<typeof openPostgres>;
  readonly pool: pg.Pool;
  readonly quick: boolean;
  readonly tell: (figure: Figure, more?: string) => void;
}

export async function benchMachine(url: string, { quick, say }: Options) {
  const pool = new pg.Pool({ connectionString: url, max: 50 });
  pool.on("error", () => {});
  const figures: Figure[] = [];
  const tell = (figure: Figure, more = "") => {
    figures.push(figure);
    const needs = figure.atLeast === undefined ? `at most ${figure.atMost}` : `at least ${figure.atLeast}`;
    const judged = figure.atLeast === undefined && figure.atMost === undefined ? "" : ` (${needs})`;
    say(`${holds(figure) ? "ok  " : "FAIL"} ${figure.name}: ${figure.value} ${figure.unit}${judged}${more}`);
  };
  for (const measure of [sends, timers, pending, timeouts]) {
    const schema = `bench_${randomUUID().slice(0, 8)}`;
    const store = openPostgres(url, { schema });
    await store.migrate();
    await measure({ schema, store, pool, quick, tell });
    await store.close();
    await pool.query(`drop schema ${schema} cascade`);
  }
  await pool.end();
  return { ok: figures.every(holds), figures };
}

function holds({ value, atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY }: Figure): boolean {
  return value >= atLeast && value <= atMost;
}

async function inFlight(total: number, lanes: number, one: (n: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const work = async () => {
    for (let n = next++; n < total; n = next++) await one(n);
  };
  await Promise.all(Array.from({ length: lanes }, work));
  return total;
}

async function sends({ schema, store, pool, quick, tell }: Bench): Promise<void> {
  await pool.query(`create table ${schema}.bench_rows (id uuid primary key, data text)`);
  const client = createClient({ store });
  await Promise.all(Array.from({ length: 1000 }, (_, i) => client.start(counters, undefined, { id: `c-${i}` })));
  const count = quick ? 5_000 : 20_000;
  const send = (n: number) => client.instance(counters, `c-${(n * 7919) % 1000}`).send({ type: "ADD", n: 1 });
  const ours = () => rate(() => inFlight(count, 50, send));
  const theirs = () => rate(() => oneRowCommits(pool, schema, count, 50));
  await ours();
  await theirs();
  const found = await interleave(quick ? 3 : 7, ours, theirs);
  const { median: value, low, high } = found.ratio;
  const rates = `${Math.round(median(found.ours))} sends/s, ${Math.round(median(found.theirs))} commits/s`;
  const name = "sends to 1,000 instances at 50 in flight, in one-row commits at 50 connections";
  tell({ name, value, unit: "×", atLeast: 0.5 }, `; ${low}–${high}; ${rates}`);
  const hot = client.instance(counters, "c-0");
  const hotRate = await rate(() => inFlight(count, 50, () => hot.send({ type: "ADD", n: 1 })));
  tell({ name: "sends to one hot instance at 50 in flight", value: Math.round(hotRate), unit: "sends/s" });
}

async function timers({ store, quick, tell }: Bench): Promise<void> {
  const count = quick ? 2_000 : 10_000;
  const node = await createNode({ store, programs: [timed], startupGrace: 0 });
  const late: number[] = [];
  const fired = new Promise<void>((resolve) => {
    node.on("instance.moved", ({ machine: name }) => {
      if (name === "timed" && late.push(0) === count) resolve();
    });
  });
  // Started over as long a time as they are due over, and due two seconds after the last start.
  const settleMs = quick ? 3_000 : 12_000;
  const startedAt = Date.now();
  await inFlight(count, 100, (n) => {
    const dueAt = startedAt + settleMs + (n * (count / 1000) * 1000) / count;
    return node.start(timed, { ms: Math.max(dueAt - Date.now(), 0) }, { id: `t-${n}` });
  });
  await fired;
  await node.stop();
  const lateness = await fromLogs(store, count);
  const sorted = lateness.sort((a, b) => a - b);
  const at = (part: number) => Math.round(sorted[Math.floor(sorted.length * part)]! * 10) / 10;
  tell({ name: `${count} timers due over ${count / 1000} s: lateness p50`, value: at(0.5), unit: "ms", atMost: 20 });
  tell({ name: "lateness p99", value: at(0.99), unit: "ms", atMost: 250 }, `; worst ${at(0.9999)}`);
}

/** By the database's clock: from the deadline to the append, as the log has them. */
async function fromLogs(store: Bench["store"], count: number): Promise<number[]> {
  const client = createClient({ store });
  const found: number[] = [];
  await inFlight(count, 50, async (n) => {
    const [start, ring] = await client.instance(timed, `t-${n}`).history();
    found.push(ring!.at - start!.at - (start!.event as { ms: number }).ms);
  });
  return found;
}

/** The sweep of 200 due timers, with few and with a million pending ones behind it. */
async function pending({ schema, store, pool, quick, tell }: Bench): Promise<void> {
  const group = { env: "default", stack: null, queue: "timed", program: "timed", version: null };
  const [groupId] = await store.runs.groupIds([group]);
  const claim = { groups: [group], limit: 200, leaseMs: 0, mostAttempts: 1_000_000 };
  const fill = (from: number, to: number, due: string) =>
    pool.query(
      `insert into ${schema}.timers (id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at)
       select gen_random_uuid(), gen_random_uuid(), $1, 1, 'after', 't', 'json', '1', at, at
       from generate_series(${from}, ${to}) n, lateral (select clock_timestamp() + ${due} as at) x`,
      [groupId],
    );
  await fill(1, 200, "interval '-1 second'");
  const sweeps = async () => {
    const times: number[] = [];
    for (let i = 0; i < (quick ? 40 : 150); i++) {
      const from = performance.now();
      await store.machines.claimTimers(claim);
      times.push(performance.now() - from);
    }
    return median(times);
  };
  await pool.query(`vacuum analyze ${schema}.timers`);
  await sweeps();
  const few = await sweeps();
  const many = quick ? 200_000 : 1_000_000;
  for (let n = 0; n < many; n += 100_000) await fill(n + 1, n + 100_000, "n * interval '1 second' + interval '1 hour'");
  await pool.query(`vacuum analyze ${schema}.timers`);
  await sweeps();
  const found = await sweeps();
  const value = Math.round((found / few) * 100) / 100;
  const more = `; ${Math.round(few * 10) / 10} ms and ${Math.round(found * 10) / 10} ms`;
  tell(
    { name: `a sweep of 200 timers with ${many} pending, against one with none`, value, unit: "×", atMost: 1.2 },
    more,
  );
}

async function timeouts({ schema, store, pool, quick, tell }: Bench): Promise<void> {
  const many = quick ? 200_000 : 1_000_000;
  const { few, found } = await pendingTimeouts({ pool, schema, store, rounds: quick ? 30 : 100, many });
  const name = `a sweep of 100 timeouts with ${many} pending, against one with none`;
  const more = `; ${Math.round(few * 10) / 10} ms and ${Math.round(found * 10) / 10} ms`;
  tell({ name, value: Math.round((found / few) * 100) / 100, unit: "×", atMost: 1.2 }, more);
}
