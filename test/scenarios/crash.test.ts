// A process dies in mid-task: another one, or its own restart, reclaims its runs; a live process keeps its claims.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { NodeProcesses } from "./nodes.js";
import { task } from "./task.js";

const { url, schema, pool } = testSchema();
const nodes = new NodeProcesses({ schema });
let store: PostgresStore;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterAll(() => store.close());

/** Longer than any test, so that an expired lease cannot be the reason. */
const LONG = "10m" as const;
const HELD = { steps: 3, ms: 1, holdAt: 1 };

/** A run that waits in its second step. */
async function heldRun(env: string) {
  const run = await createClient({ store, env }).start(task, HELD);
  await nodes.until(() => nodes.effects(run.id, "s1").length === 1);
  return run;
}

async function entries(runId: string): Promise<string[]> {
  const page = await store.journal.read(runId);
  return page!.entries.map(({ kind, name, epoch }) => `${kind} ${name} ${epoch}`.trim());
}

test("when a node is killed in mid-task, another continues after the last recorded step, within seconds", {
  timeout: 60_000,
}, async () => {
  const settings = { env: "crash", timing: { lease: LONG, presenceGrace: 500 } };
  const victim = await nodes.start("victim", url, settings);
  const run = await heldRun("crash");
  const heir = await nodes.startHere("heir", url, settings);
  await victim.kill();
  await nodes.until(() => nodes.effects(run.id, "s1").length === 2);
  heir.release(run.id);
  await run.result({ timeout: "20s" });
  const [first, second] = nodes.effects(run.id, "s1");
  expect(nodes.effects(run.id, "s0")).toMatchObject([{ node: "victim", epoch: 1 }]);
  expect([first, second]).toMatchObject([
    { node: "victim", epoch: 1 },
    { node: "heir", epoch: 2 },
  ]);
  // Attempted twice, by two processes, with the same idempotency key.
  expect(second!.key).toBe(first!.key);
  expect(nodes.effects(run.id, "s2")).toMatchObject([{ node: "heir" }]);
  expect(await entries(run.id)).toEqual(["start task 0", "step s0 1", "step s1 2", "step s2 2", "completed  2"]);
  const [reclaimed] = nodes.of("run.reclaimed", "heir");
  expect(reclaimed!.detail).toMatchObject({
    runId: run.id,
    previousIdentity: "victim",
    previousName: "victim",
    epoch: 1,
  });
});

test("a node that restarts reclaims its own runs at once, long before its grace and their leases end", {
  timeout: 60_000,
}, async () => {
  const settings = { env: "again", timing: { lease: LONG } };
  const first = await nodes.start("again", url, settings);
  const run = await heldRun("again");
  await first.kill();
  const second = await nodes.startHere("again", url, settings);
  await nodes.until(() => nodes.effects(run.id, "s1").length === 2);
  second.release(run.id);
  await run.result({ timeout: "20s" });
  expect(nodes.effects(run.id, "s0")).toHaveLength(1);
  expect((await run.status()).epoch).toBe(2);
});

test("a second live process of the same identity takes nothing from the first", { timeout: 60_000 }, async () => {
  const settings = { env: "twin", timing: { lease: LONG } };
  const first = await nodes.start("twin", url, settings);
  const run = await heldRun("twin");
  await nodes.startHere("twin", url, settings);
  const { rows } = await pool.query(`select count(*)::int as n from ${schema}.nodes where identity = 'twin'`);
  expect(rows).toEqual([{ n: 2 }]);
  first.release(run.id);
  await run.result({ timeout: "20s" });
  expect((await run.status()).epoch).toBe(1);
  expect(nodes.of("run.reclaimed")).toEqual([]);
});

test("no node starts next to a lone node; when it is killed, the next node reclaims its runs at once", {
  timeout: 60_000,
}, async () => {
  const lone = { env: "lone", flow: { claiming: false }, timing: { lease: LONG, renewEvery: 50 } };
  const first = await nodes.start("lone", url, lone);
  const run = await heldRun("lone");
  const held = async () => (await store.runs.get(run.id))!;
  await expect
    .poll(async () => (await held()).leaseUntil! - Date.now(), { timeout: 10_000 })
    .toBeGreaterThan(86_400_000);
  for (const [name, options] of [
    ["lone", lone],
    ["other", { env: "lone" }],
  ] as const) {
    await nodes.startHere(name, url, options);
    expect(nodes.of("refused", name).at(-1)!.detail).toMatchObject({ code: "NOT_ALONE" });
  }
  expect(await held()).toMatchObject({ state: "running", epoch: 1 });
  await first.kill();
  const second = await nodes.startHere("another", url, { env: "lone" });
  await nodes.until(() => nodes.effects(run.id, "s1").length === 2);
  second.release(run.id);
  await run.result({ timeout: "20s" });
  expect(nodes.effects(run.id, "s1").map(({ node, epoch }) => [node, epoch])).toEqual([
    ["lone", 1],
    ["another", 2],
  ]);
});
