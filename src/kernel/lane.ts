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

  const fits = () => fitting(waiting, { ...limits, sizeOf: ({ item }) => limits.sizeOf(item) });

  function nextBatch(): Waiting<Item, Answer>[] {
    const n = fits();
    const batch = waiting.slice(0, n);
    waiting = waiting.slice(n);
    return batch;
  }

  const isFull = () => waiting.length >= limits.maxRows || (waiting.length > 0 && fits() < waiting.length);

  async function run(): Promise<void> {
    running = true;
    try {
      await world.turn();
      let sent = sendNext();
      while (sent) {
        const tell = await sent;
        // A whole batch waits already: it leaves before those who are answered now are busy with their next item.
        const ahead = isFull() ? sendNext() : null;
        tell();
        // One turn, so that the callers whom the last flush has answered can come back with their next item.
        await world.turn();
        sent = ahead ?? sendNext();
      }
    } finally {
      running = false;
    }
  }

  function sendNext(): Promise<() => void> | null {
    return waiting.length > 0 ? send(nextBatch()) : null;
  }

  /** Answers how to tell the callers. */
  async function send(batch: readonly Waiting<Item, Answer>[]): Promise<() => void> {
    try {
      const answers = await flush(batch.map(({ item }) => item));
      return () => {
        batch.forEach(({ resolve }, i) => {
          resolve(answers[i]!);
        });
      };
    } catch (error) {
      return () => {
        for (const { reject } of batch) reject(error);
      };
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
