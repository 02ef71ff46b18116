// The runs of a killed process at default settings, with another node, a new one, or while all connections break again and again: they
// continue because their node is gone, long before their leases end. How soon: test/simulator/recovery-time.test.ts, and W7.

import { setTimeout as pass } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { startProxy } from "../harness/proxy.js";
import { type NodeProcess, NodeProcesses } from "./nodes.js";
import { task } from "./task.js";

const { url, schema, pool } = testSchema();
const nodes = new NodeProcesses({ schema });
let store: PostgresStore;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterAll(() => store.close());

const HELD = { steps: 2, ms: 1, holdAt: 0 };
/** Default settings, with a generated identity. */
const DEFAULTS = {
  timing: { housekeeping: 1_000, pollInterval: 1_000, pollMax: 5_000 },
  identity: { id: undefined as unknown as string },
};
const RESTARTED_MS = 500;

/** Kills the node and waits until another has begun the step; `meanwhile`: what happens in between. Times are those of the database. */
async function takenOver(victim: NodeProcess, runId: string, meanwhile: () => Promise<unknown> = async () => {}) {
  const { rows } = await pool.query(`select lease_until from ${schema}.runs where id = $1`, [runId]);
  await victim.kill();
  await meanwhile();
  await nodes.until(() => nodes.effects(runId, "s0").length === 2);
  const taken = await pool.query(`select at from ${schema}.reclaimed_claims where run_id = $1`, [runId]);
  return { leaseUntil: rows[0].lease_until as Date, reclaims: taken.rows.map(({ at }) => at as Date) };
}

async function heldRun(env: string) {
  const run = await createClient({ store, env }).start(task, HELD);
  await nodes.until(() => nodes.effects(run.id, "s0").length === 1);
  return run;
}

/** Taken because its node is gone; by its lease alone it would have waited for that long. */
function expectBeforeLease({ leaseUntil, reclaims }: Awaited<ReturnType<typeof takenOver>>): void {
  expect(reclaims).toHaveLength(1);
  expect(leaseUntil.getTime() - reclaims[0]!.getTime()).toBeGreaterThan(0);
}

test("one of several nodes is killed: its run continues before its lease ends", { timeout: 60_000 }, async () => {
  const settings = { ...DEFAULTS, env: "several" };
  const victim = await nodes.start("victim", url, settings);
  const run = await heldRun("several");
  await nodes.startHere("a", url, settings);
  await nodes.startHere("b", url, settings);
  await pass(4_000);
  expectBeforeLease(await takenOver(victim, run.id));
});

test("the only node is killed and restarted after half a second with another identity: its run continues before its lease ends", {
  timeout: 60_000,
}, async () => {
  const settings = { ...DEFAULTS, env: "only" };
  const victim = await nodes.start("victim", url, settings);
  const run = await heldRun("only");
  await pass(2_000);
  const restart = async () => {
    await pass(RESTARTED_MS);
    await nodes.startHere("next", url, settings);
  };
  expectBeforeLease(await takenOver(victim, run.id, restart));
});

test("a node is killed when the second node is three seconds old: its run continues before its lease ends", {
  timeout: 60_000,
}, async () => {
  const settings = { ...DEFAULTS, env: "young" };
  const victim = await nodes.start("victim", url, settings);
  const run = await heldRun("young");
  await nodes.startHere("young", url, settings);
  await pass(3_000);
  expectBeforeLease(await takenOver(victim, run.id));
});

test("while all connections are cut for 1.3 s every 10 s, a killed node's run continues within 20 s, and no other changes hands", {
  timeout: 120_000,
}, async () => {
  const { hostname: host, port } = new URL(url);
  await using proxy = await startProxy({ host, port: Number(port) });
  const settings = { ...DEFAULTS, env: "flapping" };
  const victim = await nodes.start("victim", proxy.url(url), { ...settings, concurrency: 1 });
  const lost = await heldRun("flapping");
  const client = createClient({ store, env: "flapping" });
  const others: (typeof lost)[] = [];
  for (const name of ["a", "b"]) {
    await nodes.startHere(name, proxy.url(url), { ...settings, concurrency: 2 });
    others.push(await client.start(task, HELD));
    await nodes.until(() => nodes.effects(others.at(-1)!.id, "s0").length === 1);
  }
  let flapping = true;
  const flap = (async () => {
    while (flapping) {
      proxy.refusing = true;
      proxy.resetAll();
      await pass(1_300);
      proxy.refusing = false;
      for (let waited = 0; flapping && waited < 8_700; waited += 100) await pass(100);
    }
  })();
  await pass(11_500);
  const killedAt = performance.now();
  await victim.kill();
  await nodes.until(() => nodes.effects(lost.id, "s0").length === 2, 25_000);
  expect(performance.now() - killedAt).toBeLessThan(20_000);
  await pass(Math.max(0, 22_000 - (performance.now() - killedAt)));
  flapping = false;
  await flap;
  for (const run of others) expect(await run.status()).toMatchObject({ state: "running", epoch: 1 });
  expect(nodes.of("claim.lost")).toEqual([]);
});
