// A node is cut off from the database: its runs are reclaimed while it is away, or it is back before that.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { type FaultProxy, startProxy } from "../harness/proxy.js";
import { NodeProcesses } from "./nodes.js";
import { task } from "./task.js";

const { url, schema } = testSchema();
const nodes = new NodeProcesses({ schema });
let store: PostgresStore;
let proxy: FaultProxy;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterAll(() => store.close());
beforeEach(async () => {
  const { hostname: host, port } = new URL(url);
  proxy = await startProxy({ host, port: Number(port) });
});
afterEach(() => proxy.stop());

const HELD = { steps: 2, ms: 1, holdAt: 0 };
const LEASE_MS = 2_000;

async function heldRun(env: string) {
  const run = await createClient({ store, env }).start(task, HELD);
  await nodes.until(() => nodes.effects(run.id, "s0").length === 1);
  return run;
}

test("a node cut off for longer than its lease loses its run, its late write is refused; back, it works again", {
  timeout: 90_000,
}, async () => {
  const settings = { env: "cut", timing: { lease: LEASE_MS } };
  const cut = await nodes.start("cut", proxy.url(url), settings);
  const run = await heldRun("cut");
  const other = await nodes.startHere("other", url, settings);
  proxy.mode = "blackhole";
  await nodes.until(() => nodes.effects(run.id, "s0").length === 2);
  expect(nodes.effects(run.id, "s0").map(({ node, epoch }) => [node, epoch])).toEqual([
    ["cut", 1],
    ["other", 2],
  ]);
  // Its step ends while it is away: what it writes arrives late.
  cut.release(run.id);
  await nodes.until(() => nodes.of("claim.in_doubt", "cut").length === 1);
  proxy.mode = "pass";
  await nodes.until(() => nodes.of("claim.lost", "cut").length === 1);
  expect(nodes.of("claim.lost", "cut")[0]!.detail).toMatchObject({ runId: run.id, epoch: 1 });
  expect((await run.status()).state).toBe("running");
  other.release(run.id);
  const [value] = (await run.result({ timeout: "20s" })) as string[];
  const begun = nodes.of("effect").filter(({ detail }) => detail.step === "s0");
  expect(begun.find(({ node }) => node === "other")!.detail.value).toBe(value);
  const steps = (await store.journal.read(run.id))!.entries.filter(({ kind }) => kind === "step");
  expect(steps.map(({ name, epoch }) => [name, epoch])).toEqual([
    ["s0", 2],
    ["s1", 2],
  ]);
  expect(nodes.effects(run.id, "s1")).toHaveLength(1);

  await other.stop();
  const next = await createClient({ store, env: "cut" }).start(task, { steps: 1, ms: 1 });
  await next.result({ timeout: "20s" });
  expect(nodes.effects(next.id, "s0").map(({ node }) => node)).toEqual(["cut"]);
});

test("a node that is back before a reclaim keeps its claim although its lease expired, and nothing is done twice", {
  timeout: 90_000,
}, async () => {
  // Both nodes run their housekeeping, and reclaim nothing yet.
  const settings = { env: "back", timing: { lease: LEASE_MS }, recovery: { reclaim: "off" } } as const;
  const cut = await nodes.start("cut", proxy.url(url), settings);
  const run = await heldRun("back");
  await nodes.startHere("watcher", url, settings);
  proxy.mode = "blackhole";
  await nodes.until(() => nodes.of("claim.in_doubt", "cut").length === 1);
  const isOver = async () => (await store.runs.get(run.id))!.leaseUntil! < Date.now() - 200;
  await expect.poll(isOver, { timeout: 20_000 }).toBe(true);
  proxy.mode = "pass";
  await expect.poll(isOver, { timeout: 20_000 }).toBe(false);
  cut.release(run.id);
  await run.result({ timeout: "20s" });
  expect((await run.status()).epoch).toBe(1);
  expect(nodes.effects(run.id, "s0").map(({ node, epoch }) => [node, epoch])).toEqual([["cut", 1]]);
  expect(nodes.effects(run.id, "s1").map(({ node, epoch }) => [node, epoch])).toEqual([["cut", 1]]);
  expect([...nodes.of("claim.lost"), ...nodes.of("run.reclaimed")]).toEqual([]);
});
