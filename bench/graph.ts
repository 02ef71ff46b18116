// `npm run bench -- graph`: ten nodes in a line that do nothing, against a workflow of ten steps and against one commit per step;
// and how long a run of 10,000 nodes takes to resume on another node.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { append, graph, state } from "../src/graph/index.js";
import { systemWorld } from "../src/kernel/system-world.js";
import { createNode } from "../src/node/create-node.js";
import type { NodeEvents } from "../src/node/node-events.js";
import type { AnyDefinition } from "../src/program/definition.js";
import { openPostgres } from "../src/store/postgres/open.js";
import { createBus } from "../src/telemetry/bus.js";
import { workflow } from "../src/workflow/workflow.js";
import { interleave, median, rate } from "./measure.js";
import { oneCommitPerStep } from "./one-row-commits.js";

const NODES = 10;
/** Baseline steps per second at which a graph must reach 650 runs per second. */
const STEPS_THERE = 9_700;
const RUNS_THERE = 650;
const world = systemWorld();

const names = Array.from({ length: NODES }, (_, i) => `node${i + 1}`);
const tenNodes = graph("ten-nodes", {
  state: state<{ text: string }>(),
  start: "node1",
  nodes: Object.fromEntries(names.map((name) => [name, () => ({ text: "twenty bytes of it" })])),
  edges: Object.fromEntries(names.map((name, i) => [name, names[i + 1] ?? "end"])),
});
const tenSteps = workflow("ten-steps", async (ctx) => {
  for (let i = 1; i <= NODES; i++) await ctx.step(`step${i}`, () => "twenty bytes of it");
});
const loop = graph("loop", {
  state: state<{ n: number; last: string[] }>({ last: append() }),
  start: "again",
  nodes: { again: (_ctx, s) => ({ n: s.n + 1 }) },
  edges: { again: { to: ["again", "end"], choose: (s) => (s.n < 1_000_000 ? "again" : "end") } },
  limits: { iterations: 1_000_000 },
});

export async function benchGraph(url: string, options: { quick: boolean; say: (line: string) => void }) {
  const pool = new pg.Pool({ connectionString: url, max: 50 });
  pool.on("error", () => {});
  const runs = options.quick ? 500 : 2000;
  const engine = (program: AnyDefinition, inFlight: number) =>
    inSchema(url, pool, async ({ store }) => {
      await fill(store, program.name, runs);
      return rate(async () => {
        let settled = 0;
        const node = await createNode({ store, programs: [program], concurrency: inFlight });
        await new Promise<void>((resolve) => {
          node.on("run.settled", () => {
            if (++settled === runs) resolve();
          });
        });
        void node.stop();
        return runs * NODES;
      });
    });
  const perStep = (inFlight: number) =>
    inSchema(url, pool, async ({ store, schema }) => {
      await fill(store, "ten-steps", runs);
      return rate(() => oneCommitPerStep(pool, schema, { runs, steps: NODES, inFlight }));
    });
  const figures = [];
  const pairs = options.quick ? 3 : 9;
  for (const [name, needs, inFlight, theirs] of [
    ["of a workflow's steps, 50 in flight", 0.8, 50, () => engine(tenSteps, 50)],
    ["of a workflow's steps, 200 in flight", 0.8, 200, () => engine(tenSteps, 200)],
    ["of one commit per step, 50 in flight", (RUNS_THERE * NODES) / STEPS_THERE, 50, () => perStep(50)],
  ] as const) {
    const measured = await interleave(pairs, () => engine(tenNodes, inFlight), theirs);
    const { median: m, low, high } = measured.ratio;
    const scaled = Math.round((m * STEPS_THERE) / NODES);
    const nodesPerSecond = Math.round(median(measured.ours));
    figures.push({ name, needs, ratio: measured.ratio, nodesPerSecond, scaledRunsPerSecond: scaled });
    options.say(
      `${m >= needs ? "ok  " : "FAIL"} ${m} × ${name} (${low}–${high}, needs ${needs.toFixed(2)}); ${nodesPerSecond} nodes/s` +
        (name.includes("commit") ? `, ${scaled} runs/s where one commit per step does ${STEPS_THERE}` : ""),
    );
  }
  const many = options.quick ? 1_000 : 10_000;
  const [short, long] = [await recovery(url, pool, 200), await recovery(url, pool, many)];
  const ok = long <= Math.max(3 * short, 100);
  options.say(`${ok ? "ok  " : "FAIL"} resumes after 200 nodes in ${short} ms, after ${many} in ${long} ms`);
  await pool.end();
  return { ok: ok && figures.every(({ ratio, needs }) => ratio.median >= needs), figures, recoveryMs: { short, long } };
}

/** From the claim of a run with this many finished nodes to the start of its next node: the median of 9. */
async function recovery(url: string, pool: pg.Pool, nodes: number): Promise<number> {
  return inSchema(url, pool, async ({ store }) => {
    const { id } = await fill(store, loop.name, 1);
    const times: number[] = [];
    for (let i = 0; i < 10; i++) {
      // Subscribed before the node starts: a quick node claims before createNode returns.
      const bus = createBus<NodeEvents>({ world });
      const claimed = new Promise<number>((resolve) => {
        bus.on("run.claimed", () => resolve(performance.now()));
      });
      const began = new Promise<number>((resolve) => {
        bus.on("step.started", () => resolve(performance.now()));
      });
      const node = await createNode({ store, programs: [loop], concurrency: 1, bus });
      if (i > 0) times.push((await began) - (await claimed));
      while (i === 0 && (await store.runs.get(id))!.seq < nodes)
        await new Promise((resolve) => setTimeout(resolve, 20));
      await node.stop();
    }
    return Math.round(median(times) * 10) / 10;
  });
}

type Place = { readonly schema: string; readonly store: ReturnType<typeof openPostgres> };

async function inSchema<T>(url: string, pool: pg.Pool, work: (place: Place) => Promise<T>): Promise<T> {
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const store = openPostgres(url, { schema });
  await store.migrate();
  const answer = await work({ schema, store });
  await new Promise((resolve) => setTimeout(resolve, 100));
  await store.close();
  await pool.query(`drop schema ${schema} cascade`);
  return answer;
}

async function fill(store: Place["store"], program: string, runs: number): Promise<{ readonly id: string }> {
  const group = { env: "default", stack: null, queue: program, program, version: null };
  const input = { codec: "json", data: '{"text":"","n":0,"last":[]}' };
  const newRun = () => ({ id: world.id(), group, priority: 0, delayMs: 0, crashLimit: 5, input });
  const list = Array.from({ length: runs }, newRun);
  await store.runs.insert(list);
  return { id: list[0]!.id };
}
