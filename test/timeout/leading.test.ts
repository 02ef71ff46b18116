// A sweeper with leader election, in virtual time: one sweeps, and when it cannot be sure that it leads it claims nothing more.

import { expect, test } from "vitest";
import { sleep } from "../../src/kernel/world.js";
import type { WorkClaims } from "../../src/lease/work-claims.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { FakeClaims } from "../../src/testing/fake-claims.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { timeoutStore } from "../../src/timeout/store-timeouts.js";
import { TimeoutSweeper } from "../../src/timeout/sweeper.js";
import type { SweeperOptions } from "../../src/timeout/sweeper-options.js";
import { Instances } from "./instances.js";
import { stoppedAfterTest } from "./sweeper-scene.js";

class StoreGone extends TypeError {}

function bench(scope = "order") {
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  const timeouts = timeoutStore(store, { scope, world });
  const instances = new Instances();
  const firedBy: string[] = [];
  const arm = (id: string, ms: number) => {
    instances.add(id);
    return timeouts.schedule(id, { state: "pending", sequence: 1, in: ms });
  };
  const sweep = (nodeId: string, options: Partial<SweeperOptions> = {}) => {
    const sweeper = new TimeoutSweeper({
      ...{ store: timeouts, nodeId, world, leaderElection: { lease: "30s", renew: "10s" } },
      fire: async (timeout) => {
        firedBy.push(nodeId);
        return instances.expire(timeout);
      },
      ...options,
    }).start();
    return stoppedAfterTest(world, sweeper);
  };
  return { world, store, timeouts, instances, firedBy, arm, sweep };
}

test("only the leader polls; when it stops, the next one takes over at once", async () => {
  const { world, instances, firedBy, arm, sweep } = bench();
  const [a, b] = [sweep("a"), sweep("b")];
  await arm("x", 1_000);
  await world.advance(20_000);
  expect([a.isLeader, b.isLeader, b.metrics().sweeps]).toEqual([true, false, 0]);
  await a.stop();
  await arm("y", 500);
  await world.advance(2_000);
  expect([a.isLeader, b.isLeader]).toEqual([false, true]);
  expect(instances.fired).toEqual(["x@1", "y@1"]);
  expect(firedBy).toEqual(["a", "b"]);
});

test("two kinds of instances have a leader each", async () => {
  const { world, store, sweep } = bench();
  const tickets = timeoutStore(store, { scope: "ticket", world });
  const [orders, others] = [sweep("a"), sweep("b", { store: tickets })];
  await world.advance(1_000);
  expect([orders.isLeader, others.isLeader]).toEqual([true, true]);
});

test("a leader in doubt claims nothing more, even in the middle of a batch, and continues when it leads again", async () => {
  const { world, timeouts, firedBy, arm, sweep } = bench();
  let away = false;
  const claims = timeouts.claims!;
  const flaky: WorkClaims = {
    ...claims,
    renew: async (...args) => {
      if (away) throw new StoreGone("away");
      return claims.renew(...args);
    },
  };
  for (let i = 0; i < 40; i++) await arm(`i${i}`, 5_000);
  const resigned: string[] = [];
  const sweeper = sweep("a", {
    leaderElection: { lease: "30s", renew: "10s", claims: flaky },
    concurrency: 1,
    fire: async () => {
      firedBy.push("a");
      await sleep(world, 1_000);
      return "stale";
    },
  });
  sweeper.on("sweeper.resigned", ({ reason }) => resigned.push(reason));
  await world.advance(4_000);
  away = true;
  // The grant dates from the start: it is in doubt after 27 s, and each handler takes one second.
  await world.advance(60_000);
  expect(resigned).toEqual(["doubt"]);
  expect(firedBy).toHaveLength(22);
  away = false;
  await world.advance(60_000);
  expect(firedBy).toHaveLength(40);
  expect(sweeper.metrics().errors).toBeGreaterThan(0);
});

test("an error of the claims adapter is reported and counted, and leadership stays", async () => {
  const { world, instances, arm, sweep } = bench();
  const fake = new FakeClaims({ world });
  let failing = 1;
  const claims: WorkClaims = {
    acquire: (...args) => fake.acquire(...args),
    renew: async (...args) => {
      if (failing-- > 0) throw new StoreGone("away");
      return fake.renew(...args);
    },
    complete: (...args) => fake.complete(...args),
    fail: (...args) => fake.fail(...args),
    reclaimExpired: (limit) => fake.reclaimExpired(limit),
  };
  const sweeper = sweep("a", { leaderElection: { claims } });
  const told: unknown[] = [];
  sweeper.on("sweeper.error", (event) => told.push(event.during));
  await arm("x", 60_000);
  await world.advance(61_000);
  expect(told).toEqual(["election"]);
  expect(sweeper.isLeader).toBe(true);
  expect(instances.fired).toEqual(["x@1"]);
});
