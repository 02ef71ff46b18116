// The command on runs of graphs: fork, rewind and diff without the graph's code.

import { afterAll, beforeAll, expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { PermanentError, workflow } from "../../src/index.js";
import { createNode, type Node } from "../../src/node/create-node.js";
import { scene } from "../store/scene.js";
import { typed } from "./holdfast.js";

const { store, url, schema } = scene();
const env = { HOLDFAST_DATABASE_URL: url };
const also = (...words: string[]) => typed([...words, "--schema", schema], { env });
const S = state<{ topic: string; log: string[] }>({ log: append() });
const trip = graph("trip", {
  state: S,
  start: "plan",
  nodes: {
    plan: (_ctx, s) => ({ log: [`plan ${s.topic}`] }),
    review: S.approval({ ask: (s) => `Write about ${s.topic}?`, apply: (_s, d) => ({ log: [d.outcome] }) }),
    write: S.node({ retry: 1 }, (_ctx, s) => {
      if (s.topic === "bad") throw new PermanentError("no words");
      return { log: [`write ${s.topic}`] };
    }),
  },
  edges: { plan: "review", review: "write", write: "end" },
});
const limit = { timeout: "10s" } as const;
let node: Node;
beforeAll(async () => {
  node = await createNode({ store, programs: [trip] });
});
afterAll(() => node.stop());

const parked = async (id: string) =>
  expect.poll(async () => (await node.run(id).status()).state, { timeout: 10_000 }).toBe("parked");

test("a graph's gate is decided, a failed run is rewound, forked and compared from a shell", async () => {
  const run = await node.start(trip, { topic: "bad", log: [] });
  await parked(run.id);
  expect((await also("show", run.id)).stdout).toContain("Write about bad? (approved, denied)");
  expect(await also("approve", run.id, "--json")).toMatchObject({ code: 0, json: { name: "review" } });
  await expect(run.result(limit)).rejects.toMatchObject({ state: "failed" });

  const rewound = await also(
    "rewind",
    run.id,
    "--to",
    "plan",
    "--why",
    "a typo",
    "--state",
    '{"topic":"good"}',
    "--json",
  );
  expect(rewound).toMatchObject({ code: 0, json: { ok: true, runId: run.id, to: "plan", by: "cli:ann" } });
  await parked(run.id);
  expect((await also("approve", run.id, "--json")).code).toBe(0);
  expect(await run.result(limit)).toMatchObject({ log: ["plan good", "approved", "write good"] });

  const forked = await also("fork", run.id, "--from", "write:2", "--state", '{"topic":"tea"}', "--json");
  expect(forked).toMatchObject({ code: 0, json: { ok: true, of: run.id } });
  expect(await node.run(forked.json.runId).result(limit)).toMatchObject({
    log: ["plan good", "approved", "write tea"],
  });

  const compared = await also("diff", run.id, forked.json.runId);
  expect(compared.stdout).toMatch(/≠ +write:2 +write:2 +log +\["write good"\] +\["write tea"\]/);
  const live = await node.start(trip, { topic: "tea", log: [] });
  await parked(live.id);
  const refused = await also("rewind", live.id, "--to", "plan", "--why", "?", "--json");
  expect(refused).toMatchObject({ code: 1, json: { ok: false, code: "REWIND_REFUSED" } });
  expect(await also("fork", run.id, "--from", "nowhere", "--json")).toMatchObject({
    json: { code: "POSITION_UNKNOWN" },
  });
  expect((await also("fork", run.id)).code).toBe(2);
  expect((await also("rewind", run.id, "--to", "plan", "--why", "x", "--state", "[1]")).code).toBe(2);
});

test("a thread is continued, stopped at breakpoints, streamed and its store read from a shell", async () => {
  const talk = graph("talk", {
    state: S,
    init: (topic: string) => ({ topic, log: [topic] }),
    start: "ask",
    nodes: {
      ask: async (ctx) => ({ log: [String(await ctx.interrupt("Which one?"))] }),
      say: (ctx, s) => {
        for (const word of s.log) ctx.write(`${word} `);
        ctx.write({ words: s.log.length });
        ctx.store.put("words", s.topic, s.log.length);
      },
    },
    edges: { ask: "say", say: "end" },
  });
  const own = await createNode({ store, programs: [talk] });
  const started = await also("continue", "talk", "ann", '"hello"', "--before", "ask", "--json");
  expect(started).toMatchObject({ code: 0, json: { ok: true, graph: "talk", thread: "ann" } });
  const id: string = started.json.runId;
  const state = () => own.run(id).status();
  await expect.poll(async () => (await state()).state, { timeout: 10_000 }).toBe("paused");
  expect(await also("breakpoints", id, "--after", "say", "--json")).toMatchObject({ json: { after: ["say"] } });
  expect((await also("breakpoints", id)).code).toBe(2);
  await also("resume", id);
  await expect.poll(async () => (await state()).state, { timeout: 10_000 }).toBe("parked");
  const answered = await also("approve", id, "--data", '"tea"', "--json");
  expect(answered).toMatchObject({ code: 0, json: { name: "ask", choice: "answered", data: "tea" } });
  await expect.poll(async () => (await state()).state, { timeout: 10_000 }).toBe("paused");
  expect((await also("breakpoints", id, "--clear")).code).toBe(0);
  await also("resume", id);
  expect(await own.run(id).result(limit)).toMatchObject({ log: ["hello", "tea"] });
  const streamed = await also("stream", id);
  expect(streamed.stdout).toContain("hello tea ");
  expect(streamed.stdout).toContain('[say:1] {"words":2}');
  expect((await also("stream", id, "--tokens", "--json")).json.events).toMatchObject([{ text: "hello tea " }]);
  expect(await also("store", "words", "hello", "--json")).toMatchObject({ json: { value: 2 } });
  await also("store", "words", "bye", "--put", "[1]");
  expect((await also("store", "words")).stdout).toBe("bye  [1]\nhello  2\n");
  expect((await also("store", "words", "bye", "--remove")).code).toBe(0);
  expect((await also("store", "words", "--json")).json.values).toHaveLength(1);
  expect(await also("store", "words", "--put", "1")).toMatchObject({ code: 2 });
  expect(await also("recover", id, "--why", "?", "--json")).toMatchObject({ code: 1, json: { code: "NO_SNAPSHOT" } });
  expect((await also("recover", id)).code).toBe(2);
  await own.stop();
});

test("a graph is started with breakpoints from a shell; another program is refused", async () => {
  const plain = workflow("plain", async () => "done");
  const own = await createNode({ store, programs: [plain] });
  const input = '{"topic":"tea","log":[]}';
  const started = await also("start", "trip", input, "--before", "review", "--key", "stopped", "--json");
  expect(started).toMatchObject({ code: 0, json: { ok: true, program: "trip" } });
  const id: string = started.json.runId;
  await expect.poll(async () => (await node.run(id).status()).state, { timeout: 10_000 }).toBe("paused");
  expect(await node.graphs.position(id)).toMatchObject({ position: "review:1" });
  expect((await also("start", "trip", input, "--before", "review", "--key", "stopped", "--json")).json.runId).toBe(id);
  expect(await also("update", id, '{"topic":"milk"}', "--json")).toMatchObject({ json: { fields: { topic: "milk" } } });
  await also("resume", id);
  await parked(id);
  expect((await also("show", id)).stdout).toContain("Write about milk?");
  expect((await also("update", id, "5")).code).toBe(2);
  await expect
    .poll(async () => (await store.nodes.programs("default")).some(({ name }) => name === "plain"))
    .toBe(true);
  for (const words of [
    ["start", "plain", "--after", "x"],
    ["continue", "plain", "ann"],
    ["update", (await own.start(plain)).id, "{}"],
  ]) {
    const refused = await also(...words, "--json");
    expect(refused).toMatchObject({ code: 2, json: { code: "COMMAND_MISUSED" } });
    expect(refused.json.message).toContain("plain is a workflow, not a graph");
  }
  await own.stop();
});
