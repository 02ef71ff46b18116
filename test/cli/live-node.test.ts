// The command next to a live node: what it serves, what no node serves, a decision that resumes a run, past claims.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { dag } from "../../src/dag/dag.js";
import { task } from "../../src/dag/task.js";
import { claimToken } from "../../src/kernel/run/claim.js";
import { createNode, type Node } from "../../src/node/create-node.js";
import { workflow } from "../../src/workflow/workflow.js";
import { scene } from "../store/scene.js";
import { holdfast, typed } from "./holdfast.js";

const { store, url, schema } = scene();
const env = { HOLDFAST_DATABASE_URL: url };
const run = (...words: string[]) => holdfast([...words, "--schema", schema], { env });
const also = (...words: string[]) => typed([...words, "--schema", schema], { env });

const asked = workflow("asked", async (ctx, order: string) => {
  const answer = await ctx.approval("ship", { ask: `Ship ${order}?`, choices: ["ship", "hold"], to: "warehouse" });
  return answer.outcome === "expired" ? "expired" : `${answer.outcome} by ${answer.by}: ${answer.note}`;
});
const pinned = workflow("pinned", { queue: "slow", version: "2" }, async () => 2);
const unheard = workflow("unheard", async () => 1);
let node: Node;

beforeAll(async () => {
  node = await createNode({ store, programs: [asked, pinned], identity: { name: "live", build: "2.0" } });
});
afterAll(() => node.stop());

test("approve decides an approval of a live run, and the run continues with it", async () => {
  const handle = await node.start(asked, "o-7");
  await expect.poll(async () => (await handle.status()).state, { timeout: 10_000 }).toBe("parked");
  expect((await also("show", handle.id)).stdout).toContain("Ship o-7? (ship, hold) asked of warehouse");
  const decided = await run("approve", handle.id, "--choice", "ship", "--note", "all there", "--json");
  expect(decided).toMatchObject({ code: 0, json: { ok: true, name: "ship", choice: "ship", by: "cli:ann" } });
  expect(await handle.result({ timeout: "10s" })).toBe("ship by cli:ann: all there");
  expect(await also("approve", handle.id, "--choice", "hold", "--json")).toMatchObject({
    code: 1,
    json: { ok: false, code: "RUN_ENDED" },
  });
});

test("nodes shows which programs each node serves", async () => {
  const [human, json] = await Promise.all([also("nodes"), also("nodes", "--json")]);
  expect(human.stdout).toMatch(/^NODE +STATE +HOLDS +SERVES/);
  expect(human.stdout).toMatch(/\nlive \(node-\w+\) +alive +0 +asked, pinned \(slow\) @2 /);
  const group = { env: "default", stack: null, queue: "asked", program: "asked", version: null };
  expect(json.json.nodes).toMatchObject([{ name: "live", state: "alive", heartbeatMs: 1000, leaseMs: 15_000 }]);
  expect(json.json.nodes[0].serves).toEqual([
    group,
    { ...group, queue: "slow", program: "pinned", version: "2" },
    { ...group, queue: "slow", program: "pinned" },
  ]);
});

test("nodes shows which executor works on what, and runs and show what no rule of any node serves", async () => {
  const [train, extract] = [workflow("ml::train", async () => 1), workflow("etl::extract", async () => 2)];
  const env = "routed";
  const options = { store, programs: [train, extract, unheard], env, identity: { name: "box" } };
  await using box = await createNode({
    ...options,
    flow: { executors: { gpu: 1, default: 8, spare: 2 }, serve: [["ml::*", "gpu"], "etl::**", ["**::none", "spare"]] },
  });
  const stray = await box.start(unheard);
  const [human, json, runs, shown] = await Promise.all([
    also("nodes", "--env", env),
    also("nodes", "--env", env, "--json"),
    also("runs", "--env", env),
    also("show", stray.id, "--env", env),
  ]);
  expect(human.stdout).toMatch(/ alive +0 +gpu×1: ml::train; default×8: etl::ex…/);
  expect(json.json.nodes[0].executors).toEqual([
    { name: "gpu", slots: 1, queues: ["ml::train"] },
    { name: "default", slots: 8, queues: ["etl::extract"] },
    { name: "spare", slots: 2, queues: [] },
  ]);
  expect(runs.stdout).toMatch(/waiting +unheard .*no capable node/);
  expect(shown.stdout).toContain("waiting: ready to be claimed, no capable node");
  await stray.cancel();
});

test("nodes shows a node that is alone", async () => {
  await using lone = await createNode({
    store,
    programs: [],
    env: "lone",
    identity: { name: "lone" },
    flow: { claiming: false },
  });
  expect((await also("nodes", "--env", "lone")).stdout).toMatch(/\nlone \(node-\w+\) +alive, alone +0 /);
  expect((await also("nodes", "--env", "lone", "--json")).json.nodes).toMatchObject([{ alone: true }]);
  expect(lone.active).toBe(0);
});

test("runs and show mark a run that no live node can take", async () => {
  const client = createClient({ store });
  const stray = await client.start(unheard);
  const later = await client.start(pinned, undefined, { delay: "1h" });
  const [list, json, shown, shownJson, other] = await Promise.all([
    also("runs", "--state", "waiting"),
    also("runs", "--state", "waiting", "--json"),
    also("show", stray.id),
    also("show", stray.id, "--json"),
    also("show", later.id, "--json"),
  ]);
  expect(list.stdout).toMatch(/waiting +unheard .*to be claimed, no capable node/);
  expect(list.stdout).toMatch(/waiting +pinned .*due in 60 min\n/);
  const flags = json.json.runs.map(({ program, noCapableNode }: Record<string, unknown>) => [program, noCapableNode]);
  expect(flags).toEqual([
    ["pinned", false],
    ["unheard", true],
  ]);
  expect(shown.stdout).toContain("waiting: ready to be claimed, no capable node");
  expect(shownJson.json.run).toMatchObject({ noCapableNode: true, holder: null });
  expect(other.json.run).toMatchObject({ noCapableNode: false });
  await Promise.all([stray.cancel(), later.cancel()]);
});

test("show lists the tasks of a DAG; pause, resume and retry act on them", async () => {
  let mended = false;
  const first = task({ retry: 1 }, async () => {
    if (!mended) throw new Error("not yet");
    return 1;
  });
  const second = task({ needs: { first } }, async () => 2);
  const etl = dag("cli-etl", { first, second });
  await using worker = await createNode({ store, programs: [etl], identity: { name: "worker" } });
  const handle = await worker.start(etl);
  await handle.result({ timeout: "10s" }).catch(() => {});
  const [human, json] = await Promise.all([run("show", handle.id), also("show", handle.id, "--json")]);
  expect(human.stdout).toMatch(
    /\nTasks\n {2}first +failed .* by worker +1 claim .*\n {2}second +upstream_failed .* first failed /,
  );
  expect(json.json.tasks).toMatchObject([
    { name: "first", state: "failed", program: "cli-etl::first", holder: null, lastHolder: { name: "worker" } },
    { name: "second", state: "upstream_failed", causes: ["first"], holder: null },
  ]);
  const { id: taskId } = json.json.tasks[0];
  expect(await also("retry", taskId, "--json")).toMatchObject({ code: 1, json: { code: "RUN_IS_TASK" } });
  expect(await also("resume", handle.id, "--json")).toMatchObject({ code: 1, json: { code: "RUN_NOT_PAUSED" } });
  expect(await also("pause", handle.id, "--json")).toMatchObject({ code: 1, json: { code: "RUN_ENDED" } });
  await worker.stop();
  mended = true;
  expect((await also("retry", handle.id)).code).toBe(0);
  expect(await run("pause", handle.id)).toMatchObject({ code: 0, stdout: `Run ${handle.id} is paused.\n` });
  expect((await also("show", handle.id)).stdout).toMatch(/first +paused .*\n {2}second +paused /);
  expect(await run("resume", handle.id)).toMatchObject({ code: 0, stdout: `Run ${handle.id} is resumed.\n` });
  await using other = await createNode({ store, programs: [etl], identity: { name: "other" } });
  expect(await other.run(handle.id).result({ timeout: "10s" })).toEqual({ first: 1, second: 2 });
});

test("show names the holder of each claim of a run, and when and by which node a claim was reclaimed", async () => {
  // No process is at work in this env: its housekeeping would reclaim before the test does.
  const env = "by-hand";
  const group = { env, stack: null, queue: "by-hand", program: "by-hand", version: null };
  const id = (await createClient({ store, env }).start({ ...unheard, name: "by-hand", queue: "by-hand" })).id;
  const groupIds = await store.runs.groupIds([group]);
  const claim = async (owner: string, leaseMs: number) => {
    const token = claimToken(crypto.randomUUID(), owner);
    const [claimed] = await store.runs.claim({ owner, token, groupIds, limit: 1, leaseMs });
    return claimed!;
  };
  const [gone, other] = [crypto.randomUUID(), crypto.randomUUID()];
  const who = { env, stack: null, build: null };
  await store.nodes.register({ incarnation: gone, identity: "host-9", name: "gone", ...who });
  await store.nodes.register({ incarnation: other, identity: "host-8", name: "other", ...who });
  const first = await claim(gone, 60_000);
  const step = { kind: "append", entry: { kind: "step", name: "a", key: "1" } } as const;
  await store.runs.commit([{ claim: first, expectedSeq: 1, effects: [step, { kind: "handBack" }] }]);
  await claim(gone, 0);
  await store.reclaim({ incarnation: other, env, watchedMs: 60_000, troubled: false, limit: 10 });
  await claim(gone, 0);
  await store.runs.reclaimExpired({ env, limit: 10 });
  await store.nodes.stop(gone);
  const last = await claim(other, 60_000);
  const [human, json] = await Promise.all([also("show", id, "--env", env), also("show", id, "--env", env, "--json")]);
  const time = "[\\d:.]{12}";
  const lines = [
    `1 +gone +2 entries +${time} to ${time} +handed-back`,
    `2 +gone +0 entries +reclaimed by other at ${time}`,
    `3 +gone +0 entries +reclaimed on request at ${time}`,
    "4 +other +0 entries +held",
  ];
  expect(human.stdout).toMatch(new RegExp(`\\nClaims\\n {2}${lines.join(" *\\n {2}")}`));
  expect(human.stdout).toMatch(/\nReclaimed +2 times, last from gone on request at \S+Z *\n/);
  expect(human.stdout).toMatch(/ step +a +1 +1 gone/);
  const holder = { incarnation: gone, identity: "host-9", name: "gone" };
  expect(json.json.claims).toMatchObject([
    { epoch: 1, holder, entries: 2, ended: "handed-back", reclaimed: null },
    {
      epoch: 2,
      holder,
      entries: 0,
      from: null,
      ended: "reclaimed",
      reclaimed: { by: { name: "other" }, outcome: "waiting" },
    },
    { epoch: 3, holder, ended: "reclaimed", reclaimed: { by: null } },
    { epoch: 4, holder: { name: "other" }, entries: 0, ended: "held", reclaimed: null },
  ]);
  await store.runs.commit([
    { claim: last, expectedSeq: last.seq, effects: [{ kind: "complete", output: last.input }] },
  ]);
  const ended = await also("show", id, "--env", env, "--json");
  expect(ended.json.claims[3]).toMatchObject({ holder: { name: "other" }, entries: 1, ended: "completed" });
});
