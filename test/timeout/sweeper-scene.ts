// A sweeper in virtual time with instances of its own; stopped after the test.

import { afterEach } from "vitest";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { timeoutStore } from "../../src/timeout/store-timeouts.js";
import { TimeoutSweeper } from "../../src/timeout/sweeper.js";
import type { SweeperOptions } from "../../src/timeout/sweeper-options.js";
import type { TimeoutStore } from "../../src/timeout/timeout-store.js";
import { Instances } from "./instances.js";

export class HandlerFailed extends TypeError {}

const open: { readonly world: VirtualWorld; readonly sweeper: TimeoutSweeper }[] = [];
afterEach(async () => {
  for (const { world, sweeper } of open.splice(0)) {
    const stopping = sweeper.stop();
    await world.advance(60_000);
    await stopping;
  }
});

export function stoppedAfterTest(world: VirtualWorld, sweeper: TimeoutSweeper): TimeoutSweeper {
  open.push({ world, sweeper });
  return sweeper;
}

export function bench() {
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  const timeouts = timeoutStore(store, { scope: "order", world });
  const instances = new Instances();
  /** As another process would: without a wake for this one's sweeper. */
  const elsewhere = timeoutStore(store, { scope: "order", world });
  const arm = async (id: string, ms: number, by: TimeoutStore = elsewhere) => {
    const { state, entered } = instances.add(id);
    return by.schedule(id, { state, sequence: entered, in: ms });
  };
  const sweep = (options: Partial<SweeperOptions> = {}) => {
    const own = { store: timeouts, fire: instances.fire, nodeId: "n1", world };
    return stoppedAfterTest(world, new TimeoutSweeper({ ...own, ...options }).start());
  };
  return { world, store, timeouts, elsewhere, instances, arm, sweep };
}

export const counting = (store: TimeoutStore) => {
  const calls = { looks: 0, claims: 0 };
  const counted: TimeoutStore = {
    ...store,
    queryExpired: (limit) => {
      calls.looks++;
      return store.queryExpired(limit);
    },
    claim: (...args) => {
      calls.claims++;
      return store.claim(...args);
    },
  };
  return { calls, counted };
};
