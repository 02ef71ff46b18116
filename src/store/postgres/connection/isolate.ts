// Keeps one bad row from failing its batch: a refused batch is split until the bad rows are alone.

import type { HoldfastError } from "../../../kernel/error.js";
import { DataRefused } from "./errors.js";

/** Nothing of a refused statement was stored, so its halves can be sent as if for the first time. */
export async function isolate<Item, Answer>(
  items: readonly Item[],
  send: (items: readonly Item[]) => Promise<readonly Answer[]>,
  refuse: (item: Item, error: HoldfastError) => Answer,
): Promise<readonly Answer[]> {
  if (items.length === 0) return [];
  try {
    return await send(items);
  } catch (error) {
    if (!(error instanceof DataRefused)) throw error;
    if (items.length === 1) return [refuse(items[0]!, error)];
    const middle = items.length >> 1;
    const left = await isolate(items.slice(0, middle), send, refuse);
    const right = await isolate(items.slice(middle), send, refuse);
    return [...left, ...right];
  }
}
