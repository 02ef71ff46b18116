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
    // One turn, so that the callers whom the last flush has answered can come back with their next item.
    for (await world.turn(); waiting.length > 0; await world.turn()) {
      const batch = nextBatch();
      try {
        const answers = await flush(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, i) => {
          resolve(answers[i]!);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!running) void run();
    });
}
