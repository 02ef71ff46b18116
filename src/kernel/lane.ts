// A lane: while one flush is on its way, what arrives gathers; when it returns, all of it leaves as one batch.
// No timer, and no added latency when idle.

import { type BatchLimits, fitting } from "./chunk.js";
import type { World } from "./world.js";

export interface LaneOptions<Item> extends BatchLimits<Item> {
  readonly world: World;
  /** So many batches may be on their way at once, all but one of them whole. Default 1, and then answers come in order. */
  readonly abreast?: number;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export function lane<Item, Answer>(
  flush: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { world, abreast = 1, ...limits }: LaneOptions<Item>,
): (item: Item) => Promise<Answer> {
  let waiting: Waiting<Item, Answer>[] = [];
  let onTheirWay = 0;
  let turning = false;

  const fits = () => fitting(waiting, { ...limits, sizeOf: ({ item }) => limits.sizeOf(item) });
  const isFull = () => waiting.length >= limits.maxRows || (waiting.length > 0 && fits() < waiting.length);

  /** One turn, so that the callers whom the last flush has answered can come back with their next item. */
  async function sendSoon(): Promise<void> {
    turning = true;
    await world.turn();
    turning = false;
    if (onTheirWay === 0 && waiting.length > 0) void send();
  }

  /** `notBefore`: others have their turn, too, however many whole batches follow each other. */
  async function send(notBefore?: Promise<void>): Promise<void> {
    const n = fits();
    const batch = waiting.slice(0, n);
    waiting = waiting.slice(n);
    onTheirWay++;
    const tell = await answersOf(batch);
    await notBefore;
    onTheirWay--;
    // A whole batch waits already: it leaves before those who are answered now are busy with their next item.
    if (isFull()) void send(world.turn());
    tell();
    if (!turning) void sendSoon();
  }

  /** How to tell the callers. */
  async function answersOf(batch: readonly Waiting<Item, Answer>[]): Promise<() => void> {
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
      if (onTheirWay === 0 && !turning) void sendSoon();
      else if (onTheirWay > 0 && onTheirWay < abreast && waiting.length >= limits.maxRows) void send();
    });
}
