// `npm run bench -- actors`: episodes of a strategy in moves against one-row commits, with and without the actor's limit; how soon
// an event's episode begins on another node.

import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { extname, join } from "node:path";
import pg from "pg";
import { actor } from "../src/actor/actor.js";
import { expectation } from "../src/actor/expectation.js";
import { strategy } from "../src/actor/strategy.js";
import { createClient } from "../src/client/create-client.js";
import { createNode } from "../src/node/create-node.js";
import { openPostgres } from "../src/store/postgres/open.js";
import { type EventType, event } from "../src/trigger/event.js";
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

const pickedUp = event<{ n: number }>()("picked up");
const pickedUpInTurn = event<{ n: number }>()("picked up in turn");
const CALLS = 3;
const moves = strategy({
  steps: { add: (_step, n: number) => n + 1 },
  init: () => ({ n: 0 }),
  next: (state) => (state.n < CALLS ? { do: "call", name: "add", args: state.n } : { do: "done", result: state.n }),
  handle: (state, step) => (step.did === "call" ? { n: step.result } : state),
});
const free = actor("free", { expectations: { run: expectation(moves) } });
const limited = actor("limited", { concurrency: 50, expectations: { run: expectation(moves) } });

export async function benchActors(url: string, { quick, say }: Options) {
  const figures: Figure[] = [];
  const tell = (figure: Figure, more = "") => {
    figures.push(figure);
    const needs = figure.atLeast === undefined ? `at most ${figure.atMost}` : `at least ${figure.atLeast}`;
    say(`${holds(figure) ? "ok  " : "FAIL"} ${figure.name}: ${figure.value} ${figure.unit} (${needs})${more}`);
  };
  // Measured first: after a load, the server is still flushing what it wrote.
  await pickUp(url, quick, tell);
  await episodes(url, quick, tell);
  return { ok: figures.every(holds), figures };
}

function holds({ value, atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY }: Figure): boolean {
  return value >= atLeast && value <= atMost;
}

type Tell = (figure: Figure, more?: string) => void;

async function episodes(url: string, quick: boolean, tell: Tell): Promise<void> {
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const pool = new pg.Pool({ connectionString: url, max: 50 });
  pool.on("error", () => {});
  const store = openPostgres(url, { schema });
  await store.migrate();
  await pool.query(`create table ${schema}.bench_rows (id uuid primary key, data text)`);
  const node = await createNode({ store, programs: [free, limited], concurrency: 200 });
  let ended = 0;
  node.on("run.settled", ({ as }) => void (as === "completed" && ended++));
  const count = quick ? 500 : 2000;
  const work = (which: typeof free.expectations.run | typeof limited.expectations.run) => async () => {
    const before = ended;
    await node.startMany(
      which as typeof free.expectations.run,
      Array.from({ length: count }, () => ({ input: undefined })),
    );
    while (ended - before < count) await new Promise((resolve) => setTimeout(resolve, 2));
    return count;
  };
  const theirs = () => rate(() => oneRowCommits(pool, schema, quick ? 5000 : 20_000, 50));
  for (const [name, actor, atLeast] of [
    ["without a limit", free, 0.05],
    ["under a limit of 50", limited, 0.02],
  ] as const) {
    const ours = () => rate(work(actor.expectations.run as typeof free.expectations.run));
    await ours();
    const found = await interleave(quick ? 3 : 7, ours, theirs);
    const { median: value, low, high } = found.ratio;
    const rates = `${Math.round(median(found.ours))} episodes/s of ${CALLS + 1} steps, ${Math.round(median(found.theirs))} commits/s`;
    tell(
      { name: `episodes ${name}, in one-row commits at 50 connections`, value, unit: "×", atLeast },
      `; ${low}–${high}; ${rates}`,
    );
  }
  await node.stop();
  await store.close();
  await pool.query(`drop schema ${schema} cascade`);
  await pool.end();
}

/** From before the call until the strategy begins in another process, which was idle. */
async function pickUp(url: string, quick: boolean, tell: Tell): Promise<void> {
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const store = openPostgres(url, { schema });
  await store.migrate();
  const file = join(import.meta.dirname, `actors.child${extname(import.meta.filename)}`);
  const child = fork(file, [url, schema], { execArgv: process.execArgv });
  await once(child, "message");
  const client = createClient({ store });
  const wait = async (type: EventType<string, { n: number }>, n: number) => {
    await new Promise((resolve) => setTimeout(resolve, 20 + (Math.abs(n) % 10)));
    const begun = once(child, "message");
    const from = process.hrtime.bigint();
    await client.emit(type, { n });
    const [{ at }] = (await begun) as [{ at: string }];
    return Number(BigInt(at) - from) / 1e6;
  };
  // Interleaved, so that the machine's load affects both alike.
  const waits: { free: number[]; limited: number[] } = { free: [], limited: [] };
  for (let n = -WARM_UPS; n < (quick ? 50 : 200); n++) {
    const free = await wait(pickedUp, n);
    const limited = await wait(pickedUpInTurn, n);
    if (n < 0) continue;
    waits.free.push(free);
    waits.limited.push(limited);
  }
  child.disconnect();
  await once(child, "exit");
  await store.close();
  const p50 = (times: number[]) => Math.round(median(times) * 10) / 10;
  tell({ name: "emit to an episode's begin on another node, p50", value: p50(waits.free), unit: "ms", atMost: 6 });
  // Admission under the actor's limit takes a lock, in a transaction of its own.
  tell({ name: "the same under the actor's limit, p50", value: p50(waits.limited), unit: "ms", atMost: 15 });
}
