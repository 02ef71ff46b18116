// A lane: while one flush is on its way, what arrives gathers; when it returns, all of it leaves as one batch.
// No timer, and no added latency when idle.

import { type BatchLimits, fitting } from "./chunk.js";
import type { World } from "./world.js";

export interface LaneOptions<Item> extends BatchLimits<Item> {
  readonly world: World;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export function lane<Item, Answer>(
  flush: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { world, ...limits }: LaneOptions<Item>,
): (item: Item) => Promise<Answer> {
  let waiting: Waiting<Item, Answer>[] = [];
  let running = false;

  function nextBatch(): Waiting<Item, Answer>[] {
    const n = fitting(waiting, { ...limits, sizeOf: ({ item }) => limits.sizeOf(item) });
    const batch = waiting.slice(0, n);
    waiting = waiting.slice(n);
    return batch;
  }

  async function run(): Promise<void> {
    running = true;
    try {
      // One turn, so that the callers whom the last flush has answered can come back with their next item.
      for (await world.turn(); waiting.length > 0; await world.turn()) await send(nextBatch());
    } finally {
      running = false;
    }
  }

  async function send(batch: readonly Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await flush(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, i) => {
        resolve(answers[i]!);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      // Here, where only this caller suffers: in a batch, an item that cannot be measured would stop the lane for all.
      limits.sizeOf(item);
      waiting.push({ item, resolve, reject });
      if (!running) void run();
    });
}
