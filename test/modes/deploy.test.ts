// Deployments of real processes: rolled under load, killed under each policy, drained from outside, with work claims on; and the
// two scenarios in which some nodes only start things.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tableSql as claimsTableSql } from "../../examples/table-claims.js";
import { createClient } from "../../src/client/create-client.js";
import type { RunHandle } from "../../src/client/run-handle.js";
import type { Recovery } from "../../src/kernel/run/recovery.js";
import { createNode } from "../../src/node/create-node.js";
import type { NodeOptions } from "../../src/node/node-options.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { mergeOptions } from "../harness/merge-options.js";
import { QUICK } from "../workflow/node-suite.js";
import { deployed, MOST_AT_ONCE, POLICIES, tableSql } from "./deploy-programs.js";

const { url, schema, pool } = testSchema();
const store = openPostgres(url, { schema });
const client = createClient({ store, env: "deploy" });
const orders = deployed(pool, schema, "nobody");
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
  const args = [url, schema, identity, JSON.stringify(options)];
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
async function load(count: number, policy: Recovery, from = client): Promise<RunHandle<string>[]> {
  const items = Array.from({ length: count }, () => ({ input: `${policy} ${++started}` }));
  const outcomes = await from.startMany(orders.expectations[policy], items);
  return outcomes.map((one) => (one as { run: RunHandle<string> }).run);
}

const statesOf = async (runs: readonly RunHandle<string>[]) =>
  Promise.all(runs.map(async ({ id }) => (await store.runs.get(id))!));

/** Steps that were executed more than once, of runs that began since then. */
async function doubled(like: string): Promise<readonly { run: string; n: number }[]> {
  const text = `select run, step, count(*)::int as n, array_agg(by) as by from ${schema}.done
    where run like $1 group by 1, 2 having count(*) > 1`;
  return (await pool.query<{ run: string; n: number }>(text, [like])).rows;
}

async function ended(runs: readonly RunHandle<string>[]): Promise<void> {
  await Promise.allSettled(runs.map((run) => run.result({ timeout: "60s" })));
}

/** Samples how many episodes are at work at once, until it is stopped. */
function watchLimit(): () => Promise<number> {
  const over = new AbortController();
  const text = `select count(*)::int as n from ${schema}.runs r join ${schema}.claim_groups g on g.id = r.claim_group
    where r.state = 'running' and g.program like 'orders::%'`;
  const watching = (async () => {
    let most = 0;
    while (!over.signal.aborted) most = Math.max(most, (await pool.query<{ n: number }>(text)).rows[0]!.n);
    return most;
  })();
  return () => {
    over.abort();
    return watching;
  };
}

/** Each test leaves its processes to the next: starting one takes longer than the test. */
let fleet: { readonly name: string; readonly child: ChildProcess }[] = [];
const launch = async (name: string) => ({ name, child: await start(name) });

test("a rolling restart of three processes under load: nothing fails, nothing is executed twice", {
  timeout: 120_000,
}, async () => {
  const old = await Promise.all(["a", "b", "c"].map(launch));
  const runs = await load(150, "fail");
  for (const { name, child } of old) {
    // The new one is up before the old one goes, as a supervisor does it.
    fleet.push(await launch(`${name}2`));
    runs.push(...(await load(20, "fail")));
    expect(await end(child, "SIGTERM")).toBe(0);
  }
  await ended(runs);
  const records = await statesOf(runs);
  expect(records.filter(({ state }) => state !== "completed")).toEqual([]);
  expect(records.filter(({ recoveries, failures }) => recoveries + failures > 0)).toEqual([]);
  expect(await doubled("fail %")).toEqual([]);
});

test("a storm of kills under each policy: episodes resume, restart or fail by their policy, within the actor's limit", {
  timeout: 180_000,
}, async () => {
  await pool.query(`truncate ${schema}.done`);
  const most = watchLimit();
  const byPolicy = new Map<Recovery, RunHandle<string>[]>(POLICIES.map((policy) => [policy, []]));
  for (let kill = 0; kill < 3; kill++) {
    for (const policy of POLICIES) byPolicy.get(policy)!.push(...(await load(25, policy)));
    const [first, ...others] = fleet;
    const held = async () => (await client.nodes.find(first!.name)).holds;
    await expect.poll(held, { interval: 5, timeout: 30_000 }).toBeGreaterThan(1);
    await end(first!.child, "SIGKILL");
    fleet = [...others, await launch(`s${kill}`)];
  }
  await ended([...byPolicy.values()].flat());
  expect(await most()).toBeLessThanOrEqual(MOST_AT_ONCE);
  const [resumed, restarted, failed] = await Promise.all(POLICIES.map((policy) => statesOf(byPolicy.get(policy)!)));
  expect(resumed!.map(({ state }) => state)).toEqual(resumed!.map(() => "completed"));
  expect(restarted!.map(({ state }) => state)).toEqual(restarted!.map(() => "completed"));
  // Restarted as often as it was reclaimed; failed exactly when it was reclaimed.
  for (const { generation, recoveries } of restarted!) expect(generation).toBe(recoveries);
  for (const { state, recoveries } of failed!) expect(state).toBe(recoveries > 0 ? "failed" : "completed");
  const all = [...resumed!, ...restarted!, ...failed!];
  const recovered = all.filter(({ recoveries }) => recoveries > 0);
  expect(recovered.length).toBeGreaterThan(0);
  for (const { recoveredFrom } of recovered) expect(recoveredFrom).not.toBe(null);
  // A recorded step is never executed again; one that was running at a kill may have been.
  const again = (await doubled("resume %")).reduce((sum, { n }) => sum + n - 1, 0);
  expect(again).toBeLessThanOrEqual(resumed!.reduce((sum, { recoveries }) => sum + recoveries, 0));
  expect(await doubled("fail %")).toEqual([]);
});

test("a process drained from outside hands its work to the others and exits with 0", { timeout: 60_000 }, async () => {
  const [leaving, ...others] = fleet;
  const runs = await load(60, "fail");
  const { name, child } = leaving!;
  await expect
    .poll(async () => (await client.nodes.find(name)).holds, { interval: 5, timeout: 20_000 })
    .toBeGreaterThan(0);
  const exit = once(child, "exit");
  await client.nodes.drain(name, { exit: true });
  expect((await exit)[0]).toBe(0);
  await ended(runs);
  expect((await statesOf(runs)).filter(({ state, recoveries }) => state !== "completed" || recoveries > 0)).toEqual([]);
  for (const other of others) expect(await end(other.child, "SIGTERM")).toBe(0);
});

test("a process killed with work claims on: another continues when the claim expires, and no step runs twice at once", {
  timeout: 90_000,
}, async () => {
  const claims = `${schema}_claims`;
  await pool.query(`create schema ${claims}; truncate ${schema}.done`);
  const elsewhere = new pg.Pool({ connectionString: url, options: `-c search_path=${claims}`, max: 1 });
  await elsewhere.query(claimsTableSql);
  const [dies, lives] = await Promise.all([start("dies", { claims }), start("lives", { claims })]);
  const runs = await load(20, "resume");
  const held = async () =>
    (await elsewhere.query<{ key: string }>("select key from work_claims where state = 'claimed' and owner = 'dies'"))
      .rows;
  await expect.poll(async () => (await held()).length, { interval: 2, timeout: 20_000 }).toBeGreaterThan(1);
  await end(dies!, "SIGKILL");
  // What it had begun when it died; no other process may begin that before the claim expires.
  const left = (await held()).map(({ key }) => key);
  await ended(runs);
  const records = await statesOf(runs);
  expect(records.map(({ state }) => state)).toEqual(records.map(() => "completed"));
  const recovered = records.filter(({ recoveries }) => recoveries > 0);
  expect([left.length > 0, recovered.length >= left.length]).toEqual([true, true]);
  const text = "select state, owner, attempt from work_claims where key = any($1)";
  await expect
    .poll(async () => (await elsewhere.query(text, [left])).rows, { timeout: 10_000 })
    .toEqual(left.map(() => ({ state: "done", owner: "lives", attempt: 2 })));
  expect((await doubled("resume %")).length).toBeLessThanOrEqual(recovered.length);
  await end(lives!, "SIGTERM");
  await elsewhere.end();
  await pool.query(`drop schema ${claims} cascade`);
});

/** In this process: they show which node works on what, not how processes end. */
const open = (identity: string, options: Partial<NodeOptions>) =>
  createNode({
    store,
    programs: [deployed(pool, schema, identity)],
    env: "deploy",
    ...mergeOptions({ ...QUICK, identity: { id: identity } }, options),
  });

test("developers on a shared database: the shared node executes their runs, until a developer's node takes them over", async () => {
  // With the heartbeat of the others, the shared node would take over her runs whenever this process is busy for 60 ms.
  const timing = { ...QUICK.timing, housekeeping: 1_000 };
  await using ann = await open("ann", { flow: { mode: "trigger_only" }, stack: "dev-ann", timing });
  await using _shared = await open("qc", { stack: "qc", flow: { takeDeferred: "all" } });
  const run = await ann.start(orders.expectations.resume, "dev 1");
  expect(await run.result({ timeout: "30s" })).toBe("qc");
  expect((await run.status()).deferred).toMatchObject({ by: "ann" });
  await ann.mode.override(orders, "full");
  // Within a second the shared node leaves this stack's runs to it.
  const taken = async () => (await client.nodes.find("qc")).claims.some(({ stack }) => stack === "dev-ann");
  await expect.poll(taken, { timeout: 10_000 }).toBe(false);
  expect(await (await ann.start(orders.expectations.resume, "dev 2")).result({ timeout: "30s" })).toBe("ann");
});

test("a sandbox: only the node that takes its stack works for it, and an env of its own shares nothing", async () => {
  await using sandbox = await open("sandbox", { flow: { mode: "trigger_only" }, stack: "branch-42" });
  await using production = await open("production", { stack: "live" });
  await using _designated = await open("designated", { stack: "tests", flow: { takeDeferred: ["branch-42"] } });
  const run = await sandbox.start(orders.expectations.resume, "sandbox 1");
  expect(await run.result({ timeout: "30s" })).toBe("designated");
  await using apart = await open("apart", { flow: { mode: "trigger_only" }, env: "branch-43", stack: "live" });
  const alone = await apart.start(orders.expectations.resume, "sandbox 2");
  expect(await production.runUntilIdle({ timeout: "10s" })).toMatchObject({ idle: true, worked: 0 });
  expect(await alone.status()).toMatchObject({ state: "waiting", noCapableNode: true });
});
