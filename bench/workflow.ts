// `npm run bench -- workflow`: ten-step workflows through the whole engine, against one commit per step; and how long runs
// wait for what they wait for.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { systemWorld } from "../src/kernel/system-world.js";
import { createNode } from "../src/node/create-node.js";
import { openPostgres } from "../src/store/postgres/open.js";
import { workflow } from "../src/workflow/workflow.js";
import { interleave, median, rate } from "./measure.js";
import { oneCommitPerStep } from "./one-row-commits.js";
import { idleNode, replay, sleepers, type Wait } from "./workflow-waits.js";

const STEPS = 10;
const world = systemWorld();
const tenSteps = workflow("ten-steps", async (ctx) => {
  for (let i = 1; i <= STEPS; i++) await ctx.step(`step${i}`, () => "twenty bytes of it");
});
const GROUP = { env: "default", stack: null, queue: "ten-steps", program: "ten-steps", version: null };

/** A schema of its own with this many runs waiting. */
async function filled(url: string, runs: number) {
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const store = openPostgres(url, { schema });
  await store.migrate();
  const newRun = () => ({
    id: world.id(),
    group: GROUP,
    priority: 0,
    delayMs: 0,
    crashLimit: 5,
    input: { codec: "json", data: "null" },
  });
  if (runs > 0) await store.runs.insert(Array.from({ length: runs }, newRun));
  return { schema, store };
}

export async function benchWorkflow(url: string, options: { quick: boolean; say: (line: string) => void }) {
  const pool = new pg.Pool({ connectionString: url, max: 50 });
  pool.on("error", () => {});
  const runs = options.quick ? 500 : 2000;
  const drop = async (schema: string) => void (await pool.query(`drop schema ${schema} cascade`));
  const engine = async (inFlight: number) => {
    const { schema, store } = await filled(url, runs);
    let settled = 0;
    let done = () => {};
    const all = new Promise<void>((resolve) => {
      done = resolve;
    });
    const perSecond = await rate(async () => {
      const node = await createNode({ store, programs: [tenSteps], concurrency: inFlight });
      node.on("run.settled", () => {
        if (++settled === runs) done();
      });
      await all;
      void node.stop();
      return runs * STEPS;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await store.close();
    await drop(schema);
    return perSecond;
  };
  const perStep = async (inFlight: number) => {
    const { schema, store } = await filled(url, runs);
    const perSecond = await rate(() => oneCommitPerStep(pool, schema, { runs, steps: STEPS, inFlight }));
    await store.close();
    await drop(schema);
    return perSecond;
  };
  const figures = [];
  for (const [inFlight, needs] of [
    [50, 1],
    [200, 1.8],
  ] as const) {
    const pairs = options.quick ? 3 : 9;
    const { ours, theirs, ratio } = await interleave(
      pairs,
      () => engine(inFlight),
      () => perStep(inFlight),
    );
    figures.push({
      name: `${inFlight} in flight`,
      needs,
      ratio,
      ours: median(ours),
      theirs: median(theirs),
      unit: "steps/s",
    });
    const { median: m, low, high } = ratio;
    options.say(
      `${m >= needs ? "ok  " : "FAIL"} ${inFlight} in flight: ${m} × (${low}–${high}, needs ${needs}); ${Math.round(median(ours))} steps/s`,
    );
  }
  const waits: Wait[] = [];
  for (const measure of [idleNode, sleepers, replay]) {
    const { schema, store } = await filled(url, 0);
    for (const wait of await measure({ url, schema, pool, quick: options.quick })) {
      waits.push(wait);
      const { name, value, limit, unit } = wait;
      options.say(`${value <= limit ? "ok  " : "FAIL"} ${name}: ${value} ${unit} (at most ${limit})`);
    }
    await store.close();
    await drop(schema);
  }
  await pool.end();
  const ok =
    figures.every(({ ratio, needs }) => ratio.median >= needs) && waits.every(({ value, limit }) => value <= limit);
  return { ok, figures, waits };
}
