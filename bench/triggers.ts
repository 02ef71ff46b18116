// `npm run bench -- triggers`: emitting with ten subscriptions against one-row commits; how soon another node begins; one hot
// subject that is debounced.

import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { extname, join } from "node:path";
import pg from "pg";
import { createClient } from "../src/client/create-client.js";
import { createNode } from "../src/node/create-node.js";
import { openPostgres } from "../src/store/postgres/open.js";
import { event, on } from "../src/trigger/event.js";
import { workflow } from "../src/workflow/workflow.js";
import { interleave, median, rate, WARM_UPS } from "./measure.js";
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

const SUBSCRIPTIONS = 10;
const updated = event<{ kind: string; n: number; text: string }>()("updated");
const subscribed = Array.from({ length: SUBSCRIPTIONS }, (_, i) =>
  workflow(`program-${i}`, { on: [on(updated, { where: { kind: "disk" } })] }, async () => {}),
);
const ticked = event<{ sensor: string; n: number }>()("ticked");
const calm = workflow("calm", { on: [on(ticked, { subject: "sensor", debounce: "1h" })] }, async () => {});

/** A schema of its own in which a node has declared its triggers and stopped. */
async function declared(url: string) {
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const store = openPostgres(url, { schema });
  await store.migrate();
  const node = await createNode({ store, programs: [...subscribed, calm] });
  await node.stop();
  return { schema, store };
}

/** This many calls at a time, one event each. */
async function inFlight(total: number, lanes: number, one: (n: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const work = async () => {
    for (let n = next++; n < total; n = next++) await one(n);
  };
  await Promise.all(Array.from({ length: lanes }, work));
  return total;
}

export async function benchTriggers(url: string, { quick, say }: Options) {
  const pool = new pg.Pool({ connectionString: url, max: 50 });
  pool.on("error", () => {});
  const figures: Figure[] = [];
  const tell = (figure: Figure, more = "") => {
    figures.push(figure);
    const needs = figure.atLeast === undefined ? `at most ${figure.atMost}` : `at least ${figure.atLeast}`;
    say(`${holds(figure) ? "ok  " : "FAIL"} ${figure.name}: ${figure.value} ${figure.unit} (${needs})${more}`);
  };
  // Latencies on an idle database come first: after a load, the server is still flushing what it wrote.
  for (const measure of [pickUp, emits, hotSubject]) {
    const { schema, store } = await declared(url);
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

interface Bench {
  readonly url: string;
  readonly schema: string;
  readonly store: ReturnType<typeof openPostgres>;
  readonly pool: pg.Pool;
  readonly quick: boolean;
  readonly tell: (figure: Figure, more?: string) => void;
}

async function emits({ schema, store, pool, quick, tell }: Bench): Promise<void> {
  await pool.query(`create table ${schema}.bench_rows (id uuid primary key, data text)`);
  const client = createClient({ store });
  const count = quick ? 2000 : 5000;
  let round = 0;
  const ours = () => {
    const from = ++round * 1_000_000;
    const one = (n: number) => client.emit(updated, { kind: "disk", n: from + n, text: "twenty bytes of it .." });
    return rate(() => inFlight(count, 200, one));
  };
  const theirs = () => rate(() => oneRowCommits(pool, schema, quick ? 5000 : 20_000, 50));
  await ours();
  await theirs();
  const found = await interleave(quick ? 3 : 9, ours, theirs);
  const { median: value, low, high } = found.ratio;
  const name = `emit with ${SUBSCRIPTIONS} matching subscriptions, in one-row commits at 50 connections`;
  const rates = `${Math.round(median(found.ours))} events/s, ${Math.round(median(found.theirs))} commits/s`;
  tell({ name, value, unit: "×", atLeast: 0.2 }, `; ${low}–${high}; ${rates}`);
}

async function hotSubject({ store, quick, tell }: Bench): Promise<void> {
  const client = createClient({ store });
  const count = quick ? 5000 : 20_000;
  const runs = new Set<string | null>();
  const one = async (n: number) => runs.add((await client.emit(ticked, { sensor: "hot", n })).runs[0]!.runId);
  const value = Math.round(await rate(() => inFlight(count, 100, one)));
  tell({ name: "events on one hot debounced subject", value, unit: "events/s", atLeast: 2000 });
  tell({ name: "runs made of them", value: runs.size, unit: "runs", atLeast: 1, atMost: 1 });
}

/** From before the call until the function begins in another process, which was idle. */
async function pickUp({ url, schema, store, quick, tell }: Bench): Promise<void> {
  const file = join(import.meta.dirname, `triggers.child${extname(import.meta.filename)}`);
  const child = fork(file, [url, schema], { execArgv: process.execArgv });
  await once(child, "message");
  const client = createClient({ store });
  const waits: number[] = [];
  const emitted: number[] = [];
  for (let n = -WARM_UPS; n < (quick ? 50 : 200); n++) {
    await new Promise((resolve) => setTimeout(resolve, 20 + (Math.abs(n) % 10)));
    const begun = once(child, "message");
    const from = process.hrtime.bigint();
    await client.emit(event<{ n: number }>()("picked up"), { n });
    const acknowledged = process.hrtime.bigint();
    const [{ at }] = (await begun) as [{ at: string }];
    if (n < 0) continue;
    waits.push(Number(BigInt(at) - from) / 1e6);
    emitted.push(Number(acknowledged - from) / 1e6);
  }
  child.disconnect();
  await once(child, "exit");
  const value = Math.round(median(waits) * 10) / 10;
  const call = Math.round(median(emitted) * 10) / 10;
  tell({ name: "emit to begin on another node, p50", value, unit: "ms", atMost: 6 }, `; ${call} ms of it is the call`);
}
