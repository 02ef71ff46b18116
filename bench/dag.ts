// `npm run bench -- dag`: DAGs of 20 tasks over 4 processes, against one-row commits; and how long a task waits for a node when
// the last of its needs has ended on another node.

import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { extname, join } from "node:path";
import pg from "pg";
import { createClient } from "../src/client/create-client.js";
import { openPostgres } from "../src/store/postgres/open.js";
import { handover, row, TASKS } from "./dag-programs.js";
import { interleave, median, rate, WARM_UPS } from "./measure.js";
import { oneRowCommits } from "./one-row-commits.js";

const PROCESSES = 4;
const CONNECTIONS = 50;
const NEEDS = 0.5;
const MOST_MS = 6;
/** Pause between handovers: the last DAG has ended and every node is idle. */
const PAUSE_MS = 25;
const CHILD = join(import.meta.dirname, `dag.child${extname(import.meta.filename)}`);

interface Bench {
  readonly url: string;
  readonly schema: string;
}

async function nodes(url: string, schema: string, parts: readonly string[]): Promise<readonly ChildProcess[]> {
  return Promise.all(
    parts.map(async (part) => {
      const child = fork(CHILD, [url, schema, part], {
        execArgv: process.execArgv,
      });
      await once(child, "message");
      return child;
    }),
  );
}

async function stop(children: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    children.map((child) => {
      const gone = once(child, "exit");
      child.disconnect();
      return gone;
    }),
  );
}

/** Runs this many DAGs to their end and returns the number of tasks. */
function workOf(client: ReturnType<typeof createClient>, children: readonly ChildProcess[]) {
  // Reported by the nodes: counting rows took a quarter of the database's time, and more with every round.
  let onEnded = () => {};
  for (const child of children) child.on("message", () => onEnded());
  return async (count: number) => {
    let left = count;
    const allEnded = new Promise<void>((resolve) => {
      onEnded = () => void (--left === 0 && resolve());
    });
    await client.startMany(
      row,
      Array.from({ length: count }, () => ({ input: undefined })),
    );
    await allEnded;
    return count * TASKS;
  };
}

/** The same four processes for all rounds, and one round before the first that counts, as on the other side: both are measured warm. */
async function throughput({ url, schema }: Bench, pool: pg.Pool, { quick }: { readonly quick: boolean }) {
  const dags = quick ? 150 : 1000;
  const rows = quick ? 5_000 : 20_000;
  const children = await nodes(url, schema, Array(PROCESSES).fill("row"));
  const store = openPostgres(url, { schema });
  const work = workOf(createClient({ store }), children);
  const ours = () => rate(() => work(dags));
  const theirs = () => rate(() => oneRowCommits(pool, schema, rows, CONNECTIONS));
  await ours();
  await theirs();
  const found = await interleave(quick ? 2 : 5, ours, theirs);
  await store.close();
  await stop(children);
  return { ...found, dags };
}

async function handovers({ url, schema }: Bench, count: number): Promise<number[]> {
  const [one, two] = await nodes(url, schema, ["first", "second"]);
  const store = openPostgres(url, { schema });
  const client = createClient({ store });
  const times: number[] = [];
  for (let i = -WARM_UPS; i < count; i++) {
    const ended = once(one!, "message");
    const begun = once(two!, "message");
    await client.start(handover);
    const [[end], [start]] = await Promise.all([ended, begun]);
    if (i >= 0) times.push(Number(BigInt(start.at) - BigInt(end.at)) / 1e6);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  await store.close();
  await stop([one!, two!]);
  return times;
}

export async function benchDag(url: string, options: { quick: boolean; say: (line: string) => void }) {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
  pool.on("error", () => {});
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const store = openPostgres(url, { schema });
  await store.migrate();
  await store.close();
  await pool.query(`create table ${schema}.bench_rows (id uuid primary key, data text)`);
  const bench = { url, schema };
  // Measured first: after a load, the server is still flushing what it wrote.
  const waits = (await handovers(bench, options.quick ? 50 : 300)).sort((a, b) => a - b);
  const at = (part: number) => Math.round(waits[Math.floor(waits.length * part)]! * 10) / 10;
  const handover = { p50: at(0.5), p90: at(0.9), limit: MOST_MS };
  const quick = handover.p50 <= MOST_MS;
  options.say(
    `${quick ? "ok  " : "FAIL"} last need done → started on another node: p50 ${handover.p50} ms, p90 ${handover.p90} ms (at most ${MOST_MS})`,
  );
  const { ours, theirs, ratio, dags } = await throughput(bench, pool, options);
  const holds = ratio.median >= NEEDS;
  options.say(
    `${holds ? "ok  " : "FAIL"} ${dags} DAGs of ${TASKS} tasks over ${PROCESSES} processes: ${ratio.median} × (${ratio.low}–${ratio.high}, ` +
      `needs ${NEEDS}); ${Math.round(median(ours))} tasks/s, ${Math.round(median(theirs))} one-row commits/s`,
  );
  await pool.query(`drop schema ${schema} cascade`);
  await pool.end();
  return { ok: holds && quick, ratio, ours, theirs, handover };
}
