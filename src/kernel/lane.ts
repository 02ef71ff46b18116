// A lane: while one flush is in flight, new items gather; when it returns, all of them leave as one batch. No timer,
// and no added latency when idle.

import { type BatchLimits, fitting } from "./chunk.js";
import type { World } from "./world.js";

export interface LaneOptions<Item> extends BatchLimits<Item> {
  readonly world: World;
  /** How many batches may be in flight at once, all but one of them full. Default 1, which keeps answers in order. */
  readonly inFlight?: number;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export function lane<Item, Answer>(
  flush: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { world, inFlight = 1, ...limits }: LaneOptions<Item>,
): (item: Item) => Promise<Answer> {
  let waiting: Waiting<Item, Answer>[] = [];
  let onTheirWay = 0;
  let turning = false;

  const fits = () => fitting(waiting, { ...limits, sizeOf: ({ item }) => limits.sizeOf(item) });
  const isFull = () => waiting.length >= limits.maxRows || (waiting.length > 0 && fits() < waiting.length);

  /** Waits one turn, so that callers answered by the last flush can add their next item. */
  async function sendSoon(): Promise<void> {
    turning = true;
    await world.turn();
    turning = false;
    if (onTheirWay === 0 && waiting.length > 0) void send();
  }

  /** `notBefore`: yields to other work between full batches. */
  async function send(notBefore?: Promise<void>): Promise<void> {
    const n = fits();
    const batch = waiting.slice(0, n);
    waiting = waiting.slice(n);
    onTheirWay++;
    const tell = await answersOf(batch);
    await notBefore;
    onTheirWay--;
    // A full batch is already waiting: it leaves before the callers answered now prepare their next item.
    if (isFull()) void send(world.turn());
    tell();
    if (!turning) void sendSoon();
  }

  /** Returns a function that settles the callers. */
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
      // Measured here, where only this caller fails: in a batch, an item that cannot be measured would stop the lane
      // for all.
      limits.sizeOf(item);
      waiting.push({ item, resolve, reject });
      if (onTheirWay === 0 && !turning) void sendSoon();
      else if (onTheirWay > 0 && onTheirWay < inFlight && waiting.length >= limits.maxRows) void send();
    });
}
