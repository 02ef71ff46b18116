// Starting, finding and explaining runs from a shell; queues, approvals and leases.

import { beforeAll, expect, test } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import { createNode } from "../../src/node/create-node.js";
import { workflow } from "../../src/workflow/workflow.js";
import { scene } from "../store/scene.js";
import { typed } from "./holdfast.js";
import { type Seeded, seed } from "./seed.js";

const { store, url, schema } = scene();
const env = { HOLDFAST_DATABASE_URL: url };
const say = (...words: string[]) => typed([...words, "--schema", schema], { env });
let seeded: Seeded;

beforeAll(async () => {
  seeded = await seed(store, "default");
});

test("start starts a run by name, once under a key, with attributes", async () => {
  const words = ["start", "order", '{"id":1}', "--key", "o-1", "--attribute", "region=eu,cents=300", "--json"];
  const [first, again] = [await say(...words), await say(...words)];
  expect(first.json).toMatchObject({ ok: true, program: "order" });
  expect(again.json.runId).toBe(first.json.runId);
  expect((await store.runs.get(first.json.runId))?.attributes).toEqual({ region: "eu", cents: 300 });
  expect((await say("show", first.json.runId)).stdout).toMatch(/Key +o-1\n/);
  expect((await say("show", first.json.runId, "--json")).json.run.key).toBe("o-1");
  const found = await say("runs", "--attribute", "cents=300", "--json");
  expect(found.json.runs.map(({ id }: { id: string }) => id)).toEqual([first.json.runId]);
  expect((await say("runs", "--key", "o-", "--since", "1h", "--json")).json.runs).toHaveLength(1);
  expect((await say("runs", "--parent", seeded.running)).stdout).toContain("match --parent");
  expect(await say("runs", "--attribute", "cents")).toMatchObject({ code: 2 });
  expect(await say("start", "order", "{")).toMatchObject({ code: 2 });
});

test("queues are listed, paused and resumed, and their runs say so", async () => {
  expect((await say("queues")).stdout).toMatch(/reminder +open .*1 waiting/);
  await say("start", "slow");
  expect((await say("queues", "pause", "slow", "--json")).json).toMatchObject({ queue: "slow", paused: true });
  expect((await say("queues")).stdout).toMatch(/slow +paused by cli:ann/);
  expect((await say("runs", "--program", "slow", "--json")).json.runs[0].now).toContain(
    "its queue slow is paused by cli:ann",
  );
  expect((await say("queues", "resume", "slow", "--json")).json).toMatchObject({ paused: false });
  expect(await say("queues", "pause")).toMatchObject({ code: 2 });
});

test("approvals and leases are listed", async () => {
  const { json, stdout } = await say("approvals", "--json");
  expect(json.approvals).toMatchObject([{ runId: seeded.asking, approval: "release", to: "warehouse", until: null }]);
  expect(stdout).not.toContain("undefined");
  expect((await say("approvals")).stdout).toMatch(/ship +release +Ship o-1\? \(ship, hold\) +warehouse/);
  const token = systemWorld().token();
  await store.leases.acquire({ env: "default", key: "nightly", owner: "me", token, leaseMs: 60_000 });
  expect((await say("leases")).stdout).toMatch(/nightly +claimed +me +1 +in \d+ (s|min)/);
  expect((await say("leases", "x", "--json")).json).toMatchObject({ leases: [], more: false });
});

test("NOW says what a run waits for", async () => {
  const limits = [{ kind: "serial", key: "customer 1", max: 1 } as const];
  const input = { codec: "json", data: "null" };
  const run = (program: string) => {
    const group = { env: "default", stack: null, queue: program, program, version: null };
    return { id: systemWorld().id(), group, priority: 0, delayMs: 0, crashLimit: 5, input };
  };
  await store.runs.insert([{ ...run("limited"), limits }]);
  await store.runs.insert([{ ...run("limited"), limits }]);
  await store.runs.insert([{ ...run("later"), deferred: { by: "web-1", expiresInMs: null } }]);
  const now = async (...words: string[]) =>
    (await say("runs", ...words, "--json")).json.runs.map((one: { now: string }) => one.now);
  expect(await now("--state", "held")).toEqual(["waits for limit customer 1"]);
  expect(await now("--program", "ship")).toEqual(["asks for approval release"]);
  expect(await now("--program", "import")).toMatchObject([expect.stringContaining("after download")]);
  expect(await now("--program", "later")).toMatchObject([expect.stringContaining("asked for by web-1")]);
});

test("an env without runs names those that have some", async () => {
  const { stdout } = await say("runs", "--env", "nowhere");
  expect(stdout).toContain("No runs in env nowhere.");
  expect(stdout).toContain("with runs: default");
});

test("a cancel of a run that has begun, while no live node has its program, says so", async () => {
  const orphan = workflow("orphan", async (ctx) => ctx.sleep("long", "1h"));
  const node = await createNode({ store, programs: [orphan], signals: false });
  const run = await node.start(orphan);
  while ((await run.status()).state !== "parked") await new Promise((resolve) => setTimeout(resolve, 10));
  await node.stop();
  const { json } = await say("cancel", run.id, "--json");
  expect(json).toMatchObject({ outcome: "requested", acknowledged: false, noCapableNode: true });
  expect((await say("cancel", run.id)).stdout).toContain("no live node has the program orphan");
  await using _next = await createNode({ store, programs: [orphan], signals: false });
  await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_CANCELLED" });
});
