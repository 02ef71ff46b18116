// Measures Holdfast on a user's own database: one commit, starts, pick-up, a drain of empty runs, workflows of ten steps.

import { createClient } from "../../client/create-client.js";
import { sleep, type World } from "../../kernel/world.js";
import { createNode } from "../../node/create-node.js";
import type { Store } from "../../store/contract/store.js";
import { workflow } from "../../workflow/workflow.js";

export interface Figures {
  /** One row looked for, one after the other: the network and a statement. */
  readonly roundTrip: Latency;
  /** One row written and flushed, one after the other. */
  readonly commit: Latency;
  /** Single calls of `start`, 50 at a time. */
  readonly startsPerSecond: number;
  /** From `start` in a client to the first line of the workflow, one at a time. */
  readonly pickUp: Latency;
  /** Empty runs completed by one node of 100 slots. */
  readonly drainPerSecond: number;
  /** Recorded steps, 50 workflows of ten steps at a time. */
  readonly stepsPerSecond: number;
  /** Share of one core that this process used while it drained and while it recorded steps. */
  readonly cpu: { readonly drain: number; readonly steps: number };
}

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly samples: number;
}

export interface Measured {
  /** One store for the client, one for the node: they do not share connections. */
  readonly stores: readonly [client: Store, node: Store];
  readonly world: World;
  /** How long each part lasts. */
  readonly partMs: number;
  readonly signal: AbortSignal;
  readonly onPart: (done: number, of: number) => void;
}

const ENV = "bench";
const AT_ONCE = 50;
const SLOTS = 100;
const STEPS = 10;
const PARTS = 5;
const MOST_STARTS = 50_000;
const NOOP = "noop";
/** How often it looks whether all runs have ended. */
const LOOK_MS = 100;

export async function measure(given: Measured): Promise<Figures> {
  const { stores, onPart } = given;
  const client = createClient({ store: stores[0], env: ENV, logger: false }, given.world);
  const empty = workflow(NOOP, async () => {});
  const tenSteps = workflow("ten-steps", async (ctx) => {
    for (let i = 0; i < STEPS; i++) await ctx.step(`step ${i}`, () => i);
  });
  const begun = new Map<number, number>();
  const picked = workflow("picked", async (_ctx, { n }: { n: number }) => {
    begun.set(n, given.world.monotonicNow());
  });
  const [store] = stores;
  // A run that does not exist; the row of a paused queue, written and removed in turns.
  const roundTrip = await oneByOne(given, given.partMs / 4, () => store.runs.get(given.world.id()));
  const commit = await oneByOne(given, given.partMs, (n) =>
    n % 2 === 0 ? store.queues.pause(ENV, "other", "bench") : store.queues.resume(ENV, "other"),
  );
  onPart(1, PARTS);
  const starts = await inFlight(given, AT_ONCE, MOST_STARTS, () => client.start(empty));
  onPart(2, PARTS);
  const drain = await drained(given);
  onPart(3, PARTS);
  const node = await nodeOf(given, [tenSteps, picked], AT_ONCE);
  try {
    const pickUp = await pickUps(given, async (n) => {
      await (await client.start(picked, { n })).result();
      return begun.get(n)!;
    });
    onPart(4, PARTS);
    const cpu = cpuShare(given.world);
    const runs = await inFlight(given, AT_ONCE, MOST_STARTS, async () => (await node.start(tenSteps)).result());
    const steps = { perSecond: runs.perSecond * STEPS, cpu: cpu() };
    onPart(5, PARTS);
    return {
      roundTrip,
      commit,
      startsPerSecond: starts.perSecond,
      pickUp,
      drainPerSecond: drain.perSecond,
      stepsPerSecond: steps.perSecond,
      cpu: { drain: drain.cpu, steps: steps.cpu },
    };
  } finally {
    await node.stop();
  }
}

function nodeOf({ stores, world }: Measured, programs: Parameters<typeof createNode>[0]["programs"], slots: number) {
  return createNode({ store: stores[1], env: ENV, programs, concurrency: slots, signals: false, logger: false }, world);
}

/** The first call is left out: it opens a connection. */
async function oneByOne(
  { world, signal }: Measured,
  forMs: number,
  call: (n: number) => Promise<unknown>,
): Promise<Latency> {
  const took: number[] = [];
  const end = world.monotonicNow() + forMs;
  while ((took.length < 2 || world.monotonicNow() < end) && !signal.aborted) {
    const from = world.monotonicNow();
    await call(took.length);
    took.push(world.monotonicNow() - from);
  }
  return latencyOf(took.slice(1));
}

/** `begunAt` starts a run, waits for its end and says when it began. */
async function pickUps({ world, partMs, signal }: Measured, begunAt: (n: number) => Promise<number>): Promise<Latency> {
  const took: number[] = [];
  const end = world.monotonicNow() + partMs;
  for (let n = 0; world.monotonicNow() < end && !signal.aborted; n++) {
    const from = world.monotonicNow();
    took.push((await begunAt(n)) - from);
  }
  return latencyOf(took.slice(1));
}

async function inFlight(
  { world, partMs, signal }: Measured,
  atOnce: number,
  most: number,
  work: () => Promise<unknown>,
): Promise<{ readonly done: number; readonly perSecond: number }> {
  const from = world.monotonicNow();
  let done = 0;
  const line = async () => {
    while (world.monotonicNow() - from < partMs && done < most && !signal.aborted) {
      await work();
      done++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, line));
  return { done, perSecond: done / ((world.monotonicNow() - from) / 1_000) };
}

/** The node starts on a full queue; the time counts from the first run that begins to the last. */
async function drained(given: Measured): Promise<{ readonly perSecond: number; readonly cpu: number }> {
  const { world, signal, stores } = given;
  let [count, first, last, cpu] = [0, 0, 0, () => 0];
  const noop = workflow(NOOP, async () => {
    last = world.monotonicNow();
    if (count++ === 0) [first, cpu] = [last, cpuShare(world)];
  });
  const node = await nodeOf(given, [noop], SLOTS);
  try {
    const open = () => stores[0].runs.count({ env: ENV, states: ["waiting", "running"] });
    while (!signal.aborted && Object.values(await open()).some((runs) => runs > 0))
      await sleep(world, LOOK_MS, signal).catch(() => {});
    return { perSecond: (count * 1_000) / Math.max(last - first, 1), cpu: cpu() };
  } finally {
    await node.stop();
  }
}

/** From now until the returned function is called. */
function cpuShare(world: World): () => number {
  const [before, from] = [process.cpuUsage(), world.monotonicNow()];
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / Math.max(world.monotonicNow() - from, 1);
  };
}

function latencyOf(took: readonly number[]): Latency {
  const sorted = [...took].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99), samples: sorted.length };
}
