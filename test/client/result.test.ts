// The result of a run that ends in this process arrives with its commit, not at the next poll of the watcher.

import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { createNode } from "../../src/node/create-node.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { workflow } from "../../src/workflow/workflow.js";
import { deferred } from "../harness/deferred.js";

async function scene() {
  const world = new VirtualWorld();
  const gate = deferred<string>();
  const begun = deferred<void>();
  const work = workflow("work", (ctx) =>
    ctx.step("wait", () => {
      begun.resolve();
      return gate.promise;
    }),
  );
  const memory = memoryStore({ world });
  const looks = { count: 0 };
  const glance: Store["runs"]["glance"] = (ids) => {
    looks.count++;
    return memory.runs.glance(ids);
  };
  const store = { ...memory, runs: { ...memory.runs, glance } };
  // Everything that polls does so once an hour.
  const slow = { pollInterval: "1h", pollMax: "1h", housekeeping: "1h" } as const;
  const node = await createNode(
    { store, programs: [work], signals: false, timing: { lease: "10h", renewEvery: "1h", ...slow } },
    world,
  );
  const run = await node.start(work);
  await begun.promise;
  return { world, node, run, gate, store, looks };
}

for (const by of ["the node's own handle", "a client of the process"] as const) {
  test(`without time passing, to ${by}`, async () => {
    const { world, node, run, gate, store, looks } = await scene();
    const handle = by === "the node's own handle" ? run : createClient({ store }, world).run<string>(run.id);
    let arrived: { readonly value: string; readonly at: number } | null = null;
    const waiting = handle.result().then((value) => {
      arrived = { value, at: world.monotonicNow() };
    });
    // Long enough for the watcher to look once a second, and then into the middle of such a pause.
    await world.advance(30_100);
    expect(arrived).toBeNull();
    const before = looks.count;
    const now = world.monotonicNow();
    gate.resolve("done");
    for (let turns = 0; turns < 20; turns++) await world.settle();
    expect(arrived).toEqual({ value: "done", at: now });
    expect(looks.count - before).toBeLessThanOrEqual(2);
    await waiting;
    const stopping = node.stop();
    await world.advance(5_000);
    await stopping;
  });
}
