// Deployments of real processes: rolled under load, killed under each policy, and drained from outside.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import type { RunHandle } from "../../src/client/run-handle.js";
import type { Recovery } from "../../src/kernel/recovery.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { deployed, POLICIES, tableSql } from "./deploy-programs.js";

const { url, schema, pool } = testSchema();
const store = openPostgres(url, { schema });
const client = createClient({ store, env: "deploy" });
const programs = deployed(pool, schema, "nobody");
const children = new Set<ChildProcess>();

beforeAll(async () => {
  await store.migrate();
  await pool.query(tableSql(schema));
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await store.close();
});

/** Resolves when its node is up. */
async function start(identity: string, options: object = {}): Promise<ChildProcess> {
  const args = [url, schema, identity, "5000", JSON.stringify(options)];
  const child = fork(compiled(join(import.meta.dirname, "deploy.child.ts")), args, {
    execArgv: [],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  await once(child, "message");
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  const exit = once(child, "exit");
  child.kill(signal);
  const [code] = await exit;
  return code;
}

let started = 0;
async function load(count: number, policy: Recovery): Promise<RunHandle<string>[]> {
  const program = programs[POLICIES.indexOf(policy)]!;
  const items = Array.from({ length: count }, () => ({ input: `${policy} ${++started}` }));
  const outcomes = await client.startMany(program, items);
  return outcomes.map((one) => (one as { run: RunHandle<string> }).run);
}

const statesOf = async (runs: readonly RunHandle<string>[]) =>
  Promise.all(runs.map(async ({ id }) => (await store.runs.get(id))!));

/** Steps that were done more than once, of these runs. */
async function doubled(like: string): Promise<unknown[]> {
  const text = `select run, step, count(*)::int as n, array_agg(by) as by from ${schema}.done
    where run like $1 group by 1, 2 having count(*) > 1`;
  return (await pool.query(text, [like])).rows;
}

async function ended(runs: readonly RunHandle<string>[]): Promise<void> {
  await Promise.allSettled(runs.map((run) => run.result({ timeout: "60s" })));
}

test("a rolling restart of three processes under load: nothing fails, nothing is done twice", {
  timeout: 120_000,
}, async () => {
  const names = ["a", "b", "c"];
  const fleet = new Map<string, ChildProcess>();
  for (const name of names) fleet.set(name, await start(name));
  const runs = await load(150, "fail");
  for (const name of names) {
    // The new one is up before the old one goes, as a supervisor does it.
    const next = await start(`${name}2`);
    runs.push(...(await load(20, "fail")));
    expect(await end(fleet.get(name)!, "SIGTERM")).toBe(0);
    fleet.set(name, next);
  }
  await ended(runs);
  const records = await statesOf(runs);
  expect(records.filter(({ state }) => state !== "completed")).toEqual([]);
  expect(records.filter(({ recoveries, failures }) => recoveries + failures > 0)).toEqual([]);
  expect(await doubled("fail %")).toEqual([]);
  for (const child of fleet.values()) await end(child, "SIGTERM");
});

test("a storm of kills under each policy: resumed, begun anew or given up, as each program says", {
  timeout: 180_000,
}, async () => {
  const fleet = await Promise.all(["s1", "s2", "s3"].map((name) => start(name)));
  await pool.query(`truncate ${schema}.done`);
  const byPolicy = new Map<Recovery, RunHandle<string>[]>(POLICIES.map((policy) => [policy, []]));
  for (let kill = 0; kill < 4; kill++) {
    for (const policy of POLICIES) byPolicy.get(policy)!.push(...(await load(25, policy)));
    const held = async () => (await client.nodes.list()).reduce((sum, { holds }) => sum + holds, 0);
    await expect.poll(held, { interval: 5, timeout: 30_000 }).toBeGreaterThan(3);
    await end(fleet.shift()!, "SIGKILL");
    fleet.push(await start(`s${kill + 4}`));
  }
  const all = [...byPolicy.values()].flat();
  await ended(all);
  const [resumed, restarted, failed] = await Promise.all(POLICIES.map((policy) => statesOf(byPolicy.get(policy)!)));
  expect(resumed!.map(({ state }) => state)).toEqual(resumed!.map(() => "completed"));
  expect(restarted!.map(({ state }) => state)).toEqual(restarted!.map(() => "completed"));
  // Begun anew as often as it was taken back; given up exactly when it was.
  for (const { generation, recoveries } of restarted!) expect(generation).toBe(recoveries);
  for (const { state, recoveries } of failed!) expect(state).toBe(recoveries > 0 ? "failed" : "completed");
  expect([...resumed!, ...restarted!, ...failed!].some(({ recoveries }) => recoveries > 0)).toBe(true);
  // A recorded step is never done again; one that was under way at a kill may have been.
  const again = (await doubled("resume %")) as { run: string }[];
  const recovered = resumed!.reduce((sum, { recoveries }) => sum + recoveries, 0);
  expect(again.length).toBeLessThanOrEqual(recovered);
  for (const child of fleet) await end(child, "SIGTERM");
});

test("a process drained from outside hands its work to another and exits with 0", { timeout: 60_000 }, async () => {
  const leaving = await start("leaving");
  const runs = await load(30, "fail");
  await expect.poll(async () => (await client.nodes.find("leaving")).holds, { timeout: 20_000 }).toBeGreaterThan(0);
  const exit = once(leaving, "exit");
  await client.nodes.drain("leaving", { exit: true });
  expect((await exit)[0]).toBe(0);
  const staying = await start("staying");
  await ended(runs);
  expect((await statesOf(runs)).filter(({ state, recoveries }) => state !== "completed" || recoveries > 0)).toEqual([]);
  await end(staying, "SIGTERM");
});

test("developers on a shared database: what a trigger_only machine starts is worked on by the node that takes it", {
  timeout: 60_000,
}, async () => {
  const ann = createClient({ store, env: "deploy", stack: "dev-ann" });
  const developer = await start("ann", { mode: "trigger_only", stack: "dev-ann" });
  const shared = await start("qc", { stack: "qc", takeDeferred: "all" });
  const run = await ann.start(programs[0]!, "dev 1");
  expect(await run.result({ timeout: "30s" })).toBe("qc");
  await end(developer, "SIGTERM");
  await end(shared, "SIGTERM");
});
