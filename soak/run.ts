// One soak: nodes under a fixed load for a long time, samples of what they and the database use, a transaction that pins old rows for a
// while, and the judgement.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { extname, join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import type pg from "pg";
import { compileChild } from "../chaos/compile-child.js";
import { Database } from "../chaos/database.js";
import { createClient } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";
import { type Judgement, judge, type Sample } from "./judge.js";
import { crossing, happened, job } from "./programs.js";
import { ROUND_MS, type SoakChild, type Usage } from "./settings.js";

type Client = ReturnType<typeof createClient>;

export interface SoakOptions {
  readonly minutes: number;
  readonly nodes: number;
  /** Starts per second. */
  readonly rate: number;
  readonly leak: boolean;
  readonly say: (line: string) => void;
}

export interface SoakReport extends Judgement {
  readonly minutes: number;
  readonly started: number;
  /** Calls of the client that failed, and nodes that ended. */
  readonly surprises: readonly string[];
  readonly samples: number;
}

const FEWEST_SAMPLES = 8;
const MOST_SAMPLES = 120;
const LEAST_PAUSE_MS = 500;
/** The pinned part of the time. */
const [PIN_FROM, PIN_UNTIL] = [0.4, 0.55];

const USED = `
select (select count(*)::int from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()) as connections,
  (select coalesce(sum(n_dead_tup), 0)::int from pg_stat_user_tables) as "deadTuples",
  (select coalesce(max(extract(epoch from clock_timestamp() - ended_at) * 1000), 0)::float8
     from holdfast.runs where state = 'completed') as "oldestEndedMs"`;
const TABLES =
  "select format('%I.%I', schemaname, relname) as name from pg_stat_user_tables where schemaname = 'holdfast'";

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { minutes, nodes, rate, leak, say } = options;
  const forMs = minutes * 60_000;
  const keptMs = Math.min(20_000, Math.max(1_000, forMs / 10));
  const database = await Database.start();
  const program = await compileChild(join(import.meta.dirname, `node.child${extname(import.meta.filename)}`));
  const surprises: string[] = [];
  const children: ChildProcess[] = [];
  const store = postgres(database.url);
  try {
    await store.migrate();
    await database.query("alter system set autovacuum_naptime = '5s'");
    await database.query("select pg_reload_conf()");
    const retention = {
      ...{ completed: keptMs, cancelled: keptMs, failed: keptMs, dead: keptMs },
      ...{ instances: keptMs, claims: keptMs },
    };
    for (let i = 0; i < nodes; i++) {
      const config: SoakChild = { url: database.url, name: `node-${i}`, retention, leak };
      children.push(await spawn(program, config, surprises));
    }
    const client = createClient({ store });
    say(`${nodes} nodes, ${rate} starts/s for ${minutes} min; completed runs are kept for ${keptMs / 1000} s`);
    const stop = new AbortController();
    const load = drive(client, rate, stop.signal, surprises);
    const samples = await sampleFor(forMs, { database, children, say });
    stop.abort();
    const started = await load;
    const judgement = judge(samples, { keptMs, roundMs: ROUND_MS });
    const ok = judgement.ok && surprises.length === 0;
    return { ...judgement, ok, minutes, started, surprises, samples: samples.length };
  } finally {
    await Promise.all(children.map(end));
    await store.close();
    await rm(program, { force: true });
    await database.stop({ keep: false });
  }
}

/** At a fixed pace, whatever was answered; returns how many were started. */
async function drive(client: Client, rate: number, signal: AbortSignal, surprises: string[]): Promise<number> {
  let n = 0;
  const open = new Set<Promise<unknown>>();
  const startedAt = performance.now();
  while (!signal.aborted) {
    for (; n < ((performance.now() - startedAt) / 1000) * rate; n++) {
      const call = one(client, n).catch((error) => surprises.push(`client: ${String(error)}`));
      open.add(call);
      void call.finally(() => open.delete(call));
    }
    await pass(20);
  }
  await Promise.all(open);
  return n;
}

async function one(client: Client, n: number): Promise<unknown> {
  if (n % 10 === 3) return client.emit(happened, { no: `e${n}` });
  if (n % 10 === 7) return client.start(crossing, undefined, { key: `c${n}` });
  return client.start(job, n, { key: `j${n}` });
}

interface Sampled {
  readonly database: Database;
  readonly children: readonly ChildProcess[];
  readonly say: (line: string) => void;
}

async function sampleFor(forMs: number, { database, children, say }: Sampled): Promise<Sample[]> {
  const samples: Sample[] = [];
  const startedAt = performance.now();
  // On a busy machine a sample takes a while: there are as many as planned, however long that takes.
  const planned = Math.max(FEWEST_SAMPLES, Math.min(MOST_SAMPLES, Math.round(forMs / LEAST_PAUSE_MS)));
  const everyMs = forMs / planned;
  const observer = await database.session();
  let pin: pg.Client | null = null;
  try {
    for (let nth = 1; nth <= planned; nth++) {
      await pass(Math.max(0, nth * everyMs - (performance.now() - startedAt)));
      const passed = nth / planned;
      if (passed > PIN_FROM && passed < PIN_UNTIL && pin === null) {
        pin = await database.session();
        await pin.query("begin isolation level repeatable read");
        await pin.query("select pg_current_xact_id(), count(*) from holdfast.runs");
        say("a transaction pins old rows");
      } else if (passed >= PIN_UNTIL && pin !== null) {
        await pin.end();
        pin = null;
        say("it has ended");
      }
      const sample = await take(observer, children, { atMs: performance.now() - startedAt, pinned: pin !== null });
      samples.push(sample);
      if (nth % 10 === 0) say(shown(sample));
    }
    return samples;
  } finally {
    await pin?.end();
    await observer.end();
  }
}

async function take(
  observer: pg.Client,
  children: readonly ChildProcess[],
  when: Pick<Sample, "atMs" | "pinned">,
): Promise<Sample> {
  const used = await Promise.all(children.map(usageOf));
  const sum = (name: keyof Usage) => used.reduce((all, usage) => all + usage[name], 0);
  const { rows } = await observer.query<Pick<Sample, "connections" | "deadTuples" | "oldestEndedMs">>(USED);
  const tables = (await observer.query<{ name: string }>(TABLES)).rows.map(
    ({ name }) => `select count(*) as n from ${name}`,
  );
  const counted = await observer.query<{ n: number }>(`select sum(n)::int as n from (${tables.join(" union all ")}) t`);
  return {
    ...when,
    ...rows[0]!,
    ...{ heapMb: sum("heapMb"), rssMb: sum("rssMb"), handles: sum("handles"), rows: counted.rows[0]!.n },
  };
}

function shown({ atMs, heapMb, rssMb, handles, connections, rows, deadTuples }: Sample): string {
  const memory = `heap ${heapMb.toFixed(0)} MB, rss ${rssMb.toFixed(0)} MB`;
  return `${(atMs / 1000).toFixed(0)} s: ${memory}, ${handles} handles, ${connections} connections, ${rows} rows, ${deadTuples} dead`;
}

async function spawn(program: string, config: SoakChild, surprises: string[]): Promise<ChildProcess> {
  const child = fork(program, [], {
    execArgv: ["--expose-gc"],
    env: { ...process.env, HOLDFAST_SOAK_CHILD: JSON.stringify(config) },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  child.on("exit", (code) => {
    if (code !== 0) surprises.push(`${config.name} ended with ${code}`);
  });
  await Promise.race([once(child, "message"), once(child, "exit")]);
  return child;
}

async function usageOf(child: ChildProcess): Promise<Usage> {
  const answer = once(child, "message");
  child.send("usage");
  return (await answer)[0] as Usage;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.send("stop");
  if (!(await Promise.race([ended.then(() => true), pass(10_000, false, { ref: false })]))) child.kill("SIGKILL");
}
