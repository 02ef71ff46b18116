// `holdfast mode`, `holdfast drain`, and how `nodes` and `show` print them.

import { afterAll, beforeAll, expect, test } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import { createNode, type Node } from "../../src/node/create-node.js";
import { workflow } from "../../src/workflow/workflow.js";
import { scene } from "../store/scene.js";
import { holdfast, typed } from "./holdfast.js";

const { store, url, schema } = scene();
const env = { HOLDFAST_DATABASE_URL: url };
const run = (...words: string[]) => typed([...words, "--schema", schema], { env });
const job = workflow("job", async () => "done");
let node: Node;

beforeAll(async () => {
  node = await createNode({ store, programs: [job], identity: { name: "box", id: "host-1" }, stack: "blue" });
});
afterAll(() => node.stop());

test("mode sets, shows and clears the mode of a live node", async () => {
  const set = await holdfast(["mode", "box", "trigger_only", "--keep", "--json", "--schema", schema], { env });
  expect(set).toMatchObject({ code: 0, json: { ok: true, node: "box", nodeMode: "trigger_only", overrides: {} } });
  await expect.poll(() => node.mode.status().nodeMode, { timeout: 10_000 }).toBe("trigger_only");
  expect((await run("mode", "host-1", "full", "--program", "job")).stdout).toBe("host-1: trigger_only; job: full\n");
  expect((await run("nodes")).stdout).toContain("alive, trigger_only; job: full");
  expect((await run("mode", "box")).stdout).toBe("box: trigger_only; job: full\n");
  expect((await run("mode", "box", "--clear")).stdout).toBe("box: trigger_only\n");
});

test("a deferred run shows the node that started it, and later the node that took it", async () => {
  await expect.poll(() => node.mode.of("job"), { timeout: 10_000 }).toBe("trigger_only");
  const handle = await node.start(job);
  expect((await run("show", handle.id)).stdout).toMatch(/Deferred +by host-1, not taken yet, expires in/);
  await run("mode", "box", "full");
  expect(await handle.result({ timeout: "20s" })).toBe("done");
  expect((await run("show", handle.id)).stdout).toMatch(/Deferred +by host-1, taken by box/);
  const { json } = await run("show", handle.id, "--json");
  expect(json.run).toMatchObject({ deferred: { by: "host-1", takenBy: node.incarnation }, stack: "blue" });
  const listed = await run("runs", "--deferred", "--json");
  expect(listed.json.runs.map(({ id }: { id: string }) => id)).toEqual([handle.id]);
});

test("an expired deferred run is listed with its starter and the reason", async () => {
  const group = { env: "default", stack: null, queue: "none", program: "none", version: null };
  const late = {
    id: systemWorld().id(),
    group,
    priority: 0,
    delayMs: 0,
    crashLimit: 5,
    deferred: { by: "laptop", expiresInMs: 0 },
  };
  await store.runs.insert([{ ...late, input: { codec: "json", data: "null" } }]);
  await store.runs.expireDeferred({ env: "default", limit: 10 });
  expect((await run("runs", "--deferred", "--state", "cancelled")).stdout).toMatch(
    /expired .*: no node took it, asked for by laptop/,
  );
  const { stdout } = await run("show", late.id);
  expect(stdout).toMatch(/Deferred +by laptop, not taken\n/);
  expect(stdout).toContain("DEFERRED_EXPIRED: No node took it in time.");
});

test("drain makes a node hand back its runs and claim no more, until it is resumed", async () => {
  expect((await run("drain", "box")).stdout).toBe("box: full, drains\n");
  await expect.poll(() => node.mode.status().drain, { timeout: 10_000 }).toBe("stay");
  expect((await run("nodes")).stdout).toContain("alive, full, drains");
  await run("mode", "box", "full");
  await expect.poll(() => node.mode.status().drain, { timeout: 10_000 }).toBe(null);
});

test("mistakes are reported", async () => {
  expect(await run("mode", "box", "off", "--json")).toMatchObject({ code: 2, json: { code: "COMMAND_MISUSED" } });
  expect(await run("mode", "box", "full", "--clear", "--json")).toMatchObject({ code: 2 });
  expect(await run("mode", "nobody", "full", "--json")).toMatchObject({ code: 1, json: { code: "NODE_UNKNOWN" } });
});
