// `npm run bench -- machine`: sends to many instances against one-row commits, sends to one, how late timers are, and what a million
// pending ones cost; the same for timeouts.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { assign, setup } from "xstate";
import { createClient } from "../src/client/create-client.js";
import { machine } from "../src/machine/index.js";
import { createNode } from "../src/node/create-node.js";
import { openPostgres } from "../src/store/postgres/open.js";
import { timeoutStore } from "../src/timeout/store-timeouts.js";
import { manyPending } from "./many-pending.js";
import { interleave, median, rate } from "./measure.js";
import { oneRowCommits } from "./one-row-commits.js";

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
  readonly url: string;
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
    await measure({ url, schema, store, pool, quick, tell });
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
  const node = await createNode({ store, programs: [timed] });
  const late: number[] = [];
  const fired = new Promise<void>((resolve) => {
    node.on("instance.moved", ({ machine: name }) => {
      if (name === "timed" && late.push(0) === count) resolve();
    });
  });
  // Starts are spread as widely as the deadlines, which begin two seconds after the last start.
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

/** The claim of 200 due timers, with none and with a million pending ones behind it. */
async function pending({ url, pool, quick, tell }: Bench): Promise<void> {
  const group = { env: "default", stack: null, queue: "timed", program: "timed", version: null };
  const claim = { groups: [group], limit: 200, leaseMs: 0, mostAttempts: 1_000_000 };
  const many = quick ? 200_000 : 1_000_000;
  const found = await manyPending(url, pool, quick ? 40 : 150, async ({ schema, store }) => {
    const [groupId] = await store.runs.groupIds([group]);
    const insert = (from: number, to: number, due: string) =>
      pool.query(
        `insert into ${schema}.timers (id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at)
         select gen_random_uuid(), gen_random_uuid(), $1, 1, 'after', 't', 'json', '1', at, at
         from generate_series(${from}, ${to}) n, lateral (select clock_timestamp() + ${due} as at) x`,
        [groupId],
      );
    await insert(1, 200, "interval '-1 second'");
    return {
      table: "timers",
      round: () => msOf(() => store.machines.claimTimers(claim)),
      fill: async () => {
        for (let n = 0; n < many; n += 100_000) {
          await insert(n + 1, n + 100_000, "n * interval '1 second' + interval '1 hour'");
        }
      },
    };
  });
  tellPending(tell, `a claim of 200 timers with ${many} pending, against one with none`, found);
}

/** The same for timeouts: 100 due ones are found, claimed and completed. */
async function timeouts({ url, pool, quick, tell }: Bench): Promise<void> {
  const many = quick ? 200_000 : 1_000_000;
  const found = await manyPending(url, pool, quick ? 30 : 100, async ({ schema, store }) => {
    const timeouts = timeoutStore(store, { scope: "order" });
    let n = 0;
    return {
      table: "timeouts",
      round: async () => {
        const ids = Array.from({ length: 100 }, (_, i) => `due-${n}-${i}`);
        n++;
        await Promise.all(ids.map((id) => timeouts.schedule(id, { state: "pending", sequence: 1, in: 0 })));
        return msOf(async () => {
          const { timeouts: due } = await timeouts.queryExpired(100);
          const claims = await Promise.all(due.map((one) => timeouts.claim(one, "bench", { claimMs: 30_000 })));
          await Promise.all(claims.map((one) => one.outcome === "claimed" && timeouts.complete(one.claim)));
        });
      },
      fill: async () => {
        for (let from = 0; from < many; from += 100_000) {
          await pool.query(
            `insert into ${schema}.timeouts (env, scope, instance, generation, state, sequence, deadline, due_at, created_at, attempts)
             select 'default', 'order', 'later-' || n, gen_random_uuid(), 'pending', 1, at, at, clock_timestamp(), 0
             from generate_series($1::int, $2::int) n, lateral (select clock_timestamp() + n * interval '1 second' + interval '1 hour' as at) x`,
            [from + 1, from + 100_000],
          );
        }
      },
    };
  });
  tellPending(tell, `a sweep of 100 timeouts with ${many} pending, against one with none`, found);
}

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

function tellPending(
  tell: Bench["tell"],
  name: string,
  { ratio, fewMs, manyMs }: { readonly ratio: number; readonly fewMs: number; readonly manyMs: number },
): void {
  const more = `; ${Math.round(fewMs * 10) / 10} ms and ${Math.round(manyMs * 10) / 10} ms`;
  tell({ name, value: ratio, unit: "×", atMost: 1.2 }, more);
}
