// No operation of the store bypasses the simulator's link: with a cut cable none reaches the database.

import { expect, test } from "vitest";
import { Chance } from "../../src/simulator/chance.js";
import { Database } from "../../src/simulator/database.js";
import { Incarnation } from "../../src/simulator/incarnation.js";
import { Link, newCable } from "../../src/simulator/link.js";
import { remoteStore } from "../../src/simulator/remote-store.js";
import { Scheduler } from "../../src/simulator/scheduler.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { rememberStore, tablesOf } from "../../src/store/memory/table/open-stores.js";
import type { OperationName } from "../../src/store/operation.js";
import { mapOperations, methodOf, OPERATIONS_BY_NAME } from "../../src/store/operations.js";

/** They are not questions: `close` does nothing, and news of timeouts is pushed over the link. */
const NO_QUESTIONS: readonly string[] = ["close", "timeouts.onScheduled"] satisfies OperationName[];
const WEATHER = { latencyMs: 1, loss: 0, late: 0, lateSeals: 0, busy: 0, timeoutMs: 50, retryForMs: 0 };

test("no operation reaches the database over a cut cable, and every one does over a whole one", async () => {
  const scheduler = new Scheduler(1);
  const chance = new Chance(1);
  const reached = new Set<string>();
  const database = new Database({
    scheduler,
    chance,
    openStore: (world) => {
      const store = memoryStore({ world });
      const watched = mapOperations((name) => async (...args: unknown[]) => {
        reached.add(name);
        // A transaction is over when the work in it is.
        return name === "runs.transact"
          ? (methodOf(store, name) as (...all: unknown[]) => unknown)(...args)
          : { leave: () => {} };
      });
      rememberStore(watched, tablesOf(store));
      return watched;
    },
    ...{ onApplied: () => {}, onThrown: () => {}, onPresence: () => {}, onHeard: () => {} },
  });
  const world = new Incarnation(10, "n0", { scheduler, chance, clock: { offsetMs: 0, drift: 0 } });
  const cable = newCable();
  const store = remoteStore(new Link({ world, database, scheduler, weather: WEATHER, cable, chance }));
  const names = [...OPERATIONS_BY_NAME.keys()].filter((name) => !NO_QUESTIONS.includes(name));
  const callAll = async () => {
    reached.clear();
    for (const name of names) {
      const argument =
        name === "runs.transact"
          ? async () => ({ claim: { runId: "r", epoch: 1, token: "t" }, expectedSeq: 1, effects: [] })
          : [];
      const call = Promise.resolve((methodOf(store, name) as (...args: unknown[]) => unknown)(argument, {}, {}));
      call.catch(() => {});
    }
    await scheduler.run(scheduler.now + 1_000);
    return [...reached];
  };
  cable.cut = true;
  expect(await callAll()).toEqual([]);
  cable.cut = false;
  expect((await callAll()).sort()).toEqual([...names].sort());
});
