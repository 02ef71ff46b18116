// How long things wait: a run for an idle node, a sleeper for its time, a long history for its replay; and what idling costs.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { extname, join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import type pg from "pg";
import { createNode, signal, workflow } from "../src/index.js";
import { postgres } from "../src/store/postgres/index.js";
import { median, percentile } from "./measure.js";

export interface Wait {
  readonly name: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
}

interface Options {
  readonly url: string;
  readonly schema: string;
  readonly pool: pg.Pool;
  readonly quick: boolean;
}

const REPLAYED_STEPS = 5_000;
const pickedUp = workflow("picked-up", async () => {});
const nap = workflow("nap", async (ctx) => ctx.sleep("nap", "1s"));
const again = signal("again");

const round = (value: number) => Math.round(value * 100) / 100;

/** Statements an idle node sends in a second, and how soon it begins a run that another process starts. */
export async function idleNode({ url, schema, quick }: Options): Promise<Wait[]> {
  const child = fork(join(import.meta.dirname, `workflow.child${extname(import.meta.filename)}`), [url, schema], {
    execArgv: process.execArgv,
  });
  await once(child, "message");
  const store = postgres(url, { schema });
  const client = await createNode({ store, programs: [] });
  try {
    // By now its polls are as far apart as they get.
    await pass(quick ? 8_000 : 15_000);
    const seconds = quick ? 5 : 20;
    const before = await statementsOf(child);
    await pass(seconds * 1000);
    const perSecond = ((await statementsOf(child)) - before) / seconds;

    const waits: number[] = [];
    for (let i = 0; i < (quick ? 100 : 500); i++) {
      const begun = once(child, "message");
      await client.start(pickedUp);
      const acknowledged = process.hrtime.bigint();
      const [{ at }] = (await begun) as [{ at: string }];
      waits.push(Number(BigInt(at) - acknowledged) / 1e6);
      await pass(20 + Math.random() * 20);
    }
    return [
      { name: "idle node", value: round(perSecond), limit: 2, unit: "statements/s" },
      { name: "pick-up by an idle node in another process, p50", value: round(median(waits)), limit: 4, unit: "ms" },
      { name: "pick-up, p99", value: round(percentile(waits, 0.99)), limit: 25, unit: "ms" },
    ];
  } finally {
    child.disconnect();
    await client.stop();
    await store.close();
  }
}

async function statementsOf(child: ChildProcess): Promise<number> {
  const answer = once(child, "message");
  child.send("count");
  const [{ sent }] = (await answer) as [{ sent: number }];
  return sent;
}

/** Five hundred begin in each second and sleep for one. Lateness is the time from when a sleep is due to the recorded wake-up. */
export async function sleepers({ url, schema, pool, quick }: Options): Promise<Wait[]> {
  const store = postgres(url, { schema });
  const node = await createNode({ store, programs: [nap], concurrency: 100 });
  const runs = quick ? 1_000 : 5_000;
  const started = [];
  for (let i = 0; i < runs; i += 50) {
    started.push(...Array.from({ length: 50 }, () => node.start(nap)));
    await pass(100);
  }
  const handles = await Promise.all(started);
  await handles.at(-1)!.result({ timeout: "60s" });
  await Promise.all(handles.map((run) => run.result({ timeout: "60s" })));
  await node.stop();
  await store.close();
  const { rows } = await pool.query<{ late: number }>(
    `select (extract(epoch from woken.at - begun.at) * 1000 - 1000)::float8 as late
     from ${schema}.journal begun join ${schema}.journal woken using (run_id)
     where begun.kind = 'sleep.begun' and woken.kind = 'sleep'`,
  );
  const p99 = percentile(
    rows.map(({ late }) => late),
    0.99,
  );
  return [{ name: `${rows.length} runs that sleep 1 s, lateness p99`, value: round(p99), limit: 500, unit: "ms" }];
}

/** From the claim to the first line of code behind a history of 5,000 steps. */
export async function replay({ url, schema, quick }: Options): Promise<Wait[]> {
  const rounds = quick ? 3 : 7;
  let behind = () => {};
  const long = workflow("long-history", async (ctx) => {
    for (let i = 0; i < REPLAYED_STEPS; i++) await ctx.step("step", () => i);
    for (let i = 0; i <= rounds; i++) {
      await ctx.waitFor(again);
      if (i === seen) behind();
    }
  });
  let seen = 0;
  const store = postgres(url, { schema });
  const node = await createNode({ store, programs: [long] });
  let claimedAt = 0;
  node.on("run.claimed", () => {
    claimedAt = performance.now();
  });
  const run = await node.start(long);
  const times: number[] = [];
  for (seen = 0; seen < rounds; seen++) {
    while ((await run.status()).state !== "parked") await pass(20);
    const there = new Promise<void>((resolve) => {
      behind = resolve;
    });
    await run.signal(again);
    await there;
    times.push(performance.now() - claimedAt);
  }
  await run.cancel();
  await node.stop({ grace: 0 });
  await store.close();
  return [{ name: `replay of ${REPLAYED_STEPS} steps`, value: round(median(times)), limit: 250, unit: "ms" }];
}
