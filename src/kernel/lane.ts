// A lane: while one flush is in flight, new items gather; when it returns, all of them leave as one batch. No timer,
// and no added latency when idle.

import { buggify } from "./buggify.js";
import { type BatchLimits, fitting } from "./chunk.js";
import type { World } from "./world.js";

interface SendOptions {
  readonly world: World;
  /** How many batches may be in flight at once, all but one of them full. @default 1, which keeps answers in order */
  readonly inFlight?: number;
}

export interface LaneOptions<Item> extends BatchLimits<Item>, SendOptions {}

export interface GatherOptions<Item, Answer> extends BatchLimits<Item>, SendOptions {
  readonly onAnswer: (item: Item, answer: Answer) => void;
  /** The whole flush has failed. */
  readonly onError: (item: Item, error: unknown) => void;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** A lane whose callers await their answers. */
export function lane<Item, Answer>(
  flush: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { sizeOf, ...options }: LaneOptions<Item>,
): (item: Item) => Promise<Answer> {
  const send = gather<Waiting<Item, Answer>, Answer>((batch) => flush(batch.map(({ item }) => item)), {
    ...options,
    sizeOf: ({ item }) => sizeOf(item),
    onAnswer: ({ resolve }, answer) => resolve(answer),
    onError: ({ reject }, error) => reject(error),
  });
  return (item) => new Promise((resolve, reject) => send({ item, resolve, reject }));
}

/** A lane that calls back. */
export function gather<Item, Answer>(
  flush: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { world, inFlight = 1, onAnswer, onError, ...limits }: GatherOptions<Item, Answer>,
): (item: Item) => void {
  let waiting: Item[] = [];
  let onTheirWay = 0;
  let turning = false;

  const isFull = () =>
    waiting.length >= limits.maxRows || (waiting.length > 0 && fitting(waiting, limits) < waiting.length);

  /** Waits one turn, so that callers answered by the last flush can add their next item. */
  async function sendSoon(): Promise<void> {
    turning = true;
    await world.turn();
    if (buggify(world, "lane.late")) await world.turn();
    turning = false;
    if (onTheirWay === 0 && waiting.length > 0) void send();
  }

  /** `notBefore`: yields to other work between full batches. */
  async function send(notBefore?: Promise<void>): Promise<void> {
    const n = fitting(waiting, limits);
    const batch = waiting.slice(0, n);
    waiting = waiting.slice(n);
    onTheirWay++;
    const callBack = await answersOf(batch);
    await notBefore;
    onTheirWay--;
    // A full batch is already waiting: it leaves before the callers answered now prepare their next item.
    if (isFull()) void send(world.turn());
    callBack();
    if (!turning) void sendSoon();
  }

  async function answersOf(batch: readonly Item[]): Promise<() => void> {
    try {
      const answers = await flush(batch);
      return () => {
        for (let i = 0; i < batch.length; i++) onAnswer(batch[i]!, answers[i]!);
      };
    } catch (error) {
      return () => {
        for (const item of batch) onError(item, error);
      };
    }
  }

  return (item) => {
    // Measured here, where only this caller fails: in a batch, an item that cannot be measured would stop the lane
    // for all.
    limits.sizeOf(item);
    waiting.push(item);
    if (onTheirWay === 0 && !turning) void sendSoon();
    else if (onTheirWay > 0 && onTheirWay < inFlight && waiting.length >= limits.maxRows) void send();
  };
}
