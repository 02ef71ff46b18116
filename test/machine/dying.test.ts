// A node that dies after, or in the middle of, any of its calls to the store: the next node brings the instance to its end, and
// every event is in its log once.

import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { createNode } from "../../src/node/create-node.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { crashMachines } from "./crash-machines.js";
import { open } from "./virtual-node.js";

const SETTINGS = { timing: { lease: "3s" } } as const;
const never = () => new Promise<never>(() => {});

/** Dies at its n-th call: before it is done, or when it is done and not yet answered. What follows never happens. */
function dying(
  store: Store,
  n: number,
  when: "before" | "after",
): { readonly store: Store; readonly calls: () => number } {
  let calls = 0;
  const part = <Part extends object>(operations: Part, counted: readonly (keyof Part)[]): Part => {
    const wrapped = Object.entries(operations).map(([name, operation]) => [
      name,
      (...args: unknown[]) => {
        if (calls >= n) return never();
        if (!counted.includes(name as keyof Part)) return operation(...args);
        calls++;
        if (calls < n) return operation(...args);
        if (when === "after") void operation(...args);
        return never();
      },
    ]);
    return Object.fromEntries(wrapped) as Part;
  };
  const { machines, runs, ...rest } = store;
  const parts = Object.entries(rest).map(([name, operations]) => {
    if (typeof operations === "function")
      return [
        name,
        (...args: unknown[]) => (calls >= n ? never() : (operations as (...a: unknown[]) => unknown)(...args)),
      ];
    return [name, part(operations, [])];
  });
  const found = {
    ...Object.fromEntries(parts),
    machines: part(machines, Object.keys(machines) as (keyof typeof machines)[]),
  };
  return { store: { ...found, runs: part(runs, ["claim", "commit"]) } as Store, calls: () => calls };
}

async function life(n: number, when: "before" | "after") {
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  const machines = crashMachines();
  const [left] = machines;
  const client = createClient({ store }, world);
  const starting = client.start(left, { ms: 1_000 }, { id: "i" });
  await world.advance(1);
  const one = await starting;
  const mortal = dying(store, n, when);
  // It may die before it is open.
  void createNode({ store: mortal.store, programs: machines, ...SETTINGS }, world).catch(() => {});
  await world.advance(3_000);
  const died = mortal.calls() >= n;
  const second = await open(machines, world, store, SETTINGS);
  // The lease on a timer, and that on a run.
  await world.advance(12_000);
  const types = (await second.done(one.history())).map(({ type }) => type);
  const timers = await store.machines.timers(one.key);
  return { died, types, timers };
}

test("after a death at any call the timer fires once, its effect's result arrives once, nothing is left", {
  timeout: 60_000,
}, async () => {
  let deaths = 0;
  for (const when of ["before", "after"] as const) {
    for (let n = 1; n <= 40; n++) {
      const { died, types, timers } = await life(n, when);
      expect({ n, when, types, timers }).toEqual({
        ...{ n, when, types: ["start", "after wait in waits", "TOLD"], timers: [] },
      });
      if (!died) break;
      deaths++;
    }
  }
  // Claiming the timer, firing it, claiming its effect's run, its commits, and the polls in between.
  expect(deaths).toBeGreaterThan(12);
});
