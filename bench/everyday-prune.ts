// How fast runs are made while 5,000 ended ones a second are pruned next to them, and right after: against an empty table.

import { randomUUID } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import { createNode, type Node, workflow } from "../src/index.js";
import { openPostgres } from "../src/store/postgres/open.js";
import type { Full } from "./everyday-find.js";
import { interleave, rate } from "./measure.js";
import type { PartOptions } from "./parts.js";

/** Of the empty table's rate. */
const NEEDS = 0.95;
const PRUNED_PER_S = 5_000;
const BATCH = 1_000;

const noop = workflow("noop", async (ctx) => ctx.step("work", () => 1));

export async function benchPrune(url: string, full: Full, { quick, say }: PartOptions) {
  const [pairs, count] = quick ? [2, 500] : [13, 4_000];
  const schema = `bench_${randomUUID().slice(0, 8)}`;
  const empty = openPostgres(url, { schema });
  await empty.migrate();
  const [small, large] = [await nodeOn(empty), await nodeOn(full.store)];
  const perSecond = (node: Node) => () => rate(() => drain(node, count));
  for (const node of [small, large]) await drain(node, count);

  // With connections of its own, as `holdfast prune` has: on those of the node, each batch would hold one of three.
  const pruner = new Pruner(openPostgres(url, { schema: full.schema }));
  const during = await interleave(pairs, () => pruner.beside(perSecond(large)), perSecond(small));
  const after = await interleave(pairs, perSecond(large), perSecond(small));
  await Promise.all([small.stop(), large.stop(), pruner.store.close()]);
  await empty.close();
  await full.pool.query(`drop schema ${schema} cascade`);

  const figures = [
    { name: "runs while pruning, of an empty table's rate", ratio: during.ratio, rates: during },
    { name: "runs right after pruning, of an empty table's rate", ratio: after.ratio, rates: after },
  ].map(({ name, ratio, rates }) => ({
    name,
    ...ratio,
    needs: NEEDS,
    perSecond: rates.ours.map(Math.round),
    emptyPerSecond: rates.theirs.map(Math.round),
  }));
  for (const one of figures)
    say(
      `${one.median >= NEEDS ? "ok  " : "FAIL"} ${one.name}: ${one.median} (${one.low} to ${one.high}, needs ${NEEDS})`,
    );
  say(`pruned ${pruner.pruned} runs, ${pruner.perSecond}/s`);
  const ok = figures.every(({ median }) => median >= NEEDS);
  return { ok, figures, pruned: pruner.pruned, prunedPerSecond: pruner.perSecond };
}

const nodeOn = (store: Full["store"]) => createNode({ store, programs: [noop], concurrency: 200, signals: false });

/** Starts runs and works on all of them. */
async function drain(node: Node, count: number): Promise<number> {
  let left = count;
  const done = new Promise<void>((resolve) => {
    const off = node.on("run.settled", ({ as }) => {
      if (as !== "completed" || --left > 0) return;
      off();
      resolve();
    });
  });
  for (let i = 0; i < count; i += 500) {
    await node.startMany(
      noop,
      Array.from({ length: Math.min(500, count - i) }, () => ({ input: undefined })),
    );
  }
  await done;
  return count;
}

/** Prunes the old runs at a steady pace while something else is measured. */
class Pruner {
  readonly store: Full["store"];
  pruned = 0;
  #ms = 0;

  constructor(store: Full["store"]) {
    this.store = store;
  }

  get perSecond(): number {
    return this.#ms === 0 ? 0 : Math.round((this.pruned * 1000) / this.#ms);
  }

  async beside<T>(measured: () => Promise<T>): Promise<T> {
    const over = new AbortController();
    const pruning = this.#prune(over.signal);
    try {
      return await measured();
    } finally {
      over.abort();
      await pruning;
    }
  }

  async #prune(over: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    let pruned = 0;
    while (!over.aborted) {
      for (const program of ["order", "mail"]) {
        if (pruned > ((performance.now() - startedAt) * PRUNED_PER_S) / 1000) break;
        pruned += await this.store.runs.prune({ env: "default", endedBeforeMs: 0, program, limit: BATCH });
      }
      await pass(20);
    }
    this.pruned += pruned;
    this.#ms += performance.now() - startedAt;
  }
}
