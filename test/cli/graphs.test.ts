// The command on runs of graphs: fork, rewind and diff without the graph's code.

import { afterAll, beforeAll, expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { PermanentError } from "../../src/index.js";
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
  const refused = await also("rewind", run.id, "--to", "plan", "--why", "?", "--json");
  expect(refused).toMatchObject({ code: 1, json: { ok: false, code: "REWIND_REFUSED" } });
  expect(await also("fork", run.id, "--from", "nowhere", "--json")).toMatchObject({
    json: { code: "POSITION_UNKNOWN" },
  });
  expect((await also("fork", run.id)).code).toBe(2);
  expect((await also("rewind", run.id, "--to", "plan", "--why", "x", "--state", "[1]")).code).toBe(2);
});
