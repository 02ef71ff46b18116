// A node on the memory store in virtual time, stopped after the test.

import { afterEach } from "vitest";
import { createNode, type Node } from "../../src/node/create-node.js";
import type { NodeOptions } from "../../src/node/node-options.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

export const MINUTE = 60_000;
const opened: { node: Node; world: VirtualWorld }[] = [];
afterEach(async () => {
  for (const { node, world } of opened.splice(0)) {
    void node.stop({ grace: 0 });
    await world.advance(5_000);
  }
});

export async function open(
  programs: NodeOptions["programs"],
  world = new VirtualWorld(),
  store: Store = memoryStore({ world }),
  options: Omit<NodeOptions, "store" | "programs"> = {},
) {
  const opening = createNode({ store, programs, ...options }, world);
  await world.advance(10);
  const node = await opening;
  opened.push({ node, world });
  /** Advances time until a call that waits for turns and timers has ended. */
  const done = async <T>(work: Promise<T>): Promise<T> => {
    let settled = false;
    const result = work.finally(() => {
      settled = true;
    });
    result.catch(() => {});
    while (!settled) await world.advance(1);
    return result;
  };
  return { world, store, node, done };
}
