// A lane for calls with several items each: calls that arrive together are sent as one batch, and no call is split.

import type { BatchLimits } from "../kernel/chunk.js";
import { lane } from "../kernel/lane.js";
import type { World } from "../kernel/world.js";

export function callLane<Item, Answer>(
  flush: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { world, sizeOf, ...caps }: BatchLimits<Item> & { readonly world: World },
): (items: readonly Item[]) => Promise<readonly Answer[]> {
  return lane<readonly Item[], readonly Answer[]>(
    async (calls) => {
      const answers = await flush(calls.flat());
      let used = 0;
      return calls.map((items) => {
        used += items.length;
        return answers.slice(used - items.length, used);
      });
    },
    {
      ...caps,
      world,
      sizeOf: (items) => ({ rows: items.length, bytes: items.reduce((sum, item) => sum + sizeOf(item).bytes, 0) }),
    },
  );
}
