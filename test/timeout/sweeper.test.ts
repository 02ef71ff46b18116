// The sweeper in virtual time: a due timeout fires once, on its own instance, in time; and how the sweeper stops.

import { describe, expect, test } from "vitest";
import { sleep } from "../../src/kernel/world.js";
import { timeoutStore } from "../../src/timeout/store-timeouts.js";
import type { SweeperOptions } from "../../src/timeout/sweeper-options.js";
import type { TimeoutStore } from "../../src/timeout/timeout-store.js";
import { Instances } from "./instances.js";
import { bench, counting } from "./sweeper-scene.js";

describe("a due timeout", () => {
  test("fires, is counted and is removed; one that is not due stays", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    await arm("a", 1_000);
    await arm("b", 1_000);
    await arm("later", 3_600_000);
    const sweeper = sweep();
    await world.advance(10_000);
    expect(instances.fired.sort()).toEqual(["a@1", "b@1"]);
    expect(sweeper.metrics()).toMatchObject({ fired: 2, skipped: 0, claimConflicts: 0, errors: 0 });
    expect([await timeouts.get("a"), await timeouts.get("b")]).toEqual([null, null]);
    expect(await timeouts.get("later")).not.toBeNull();
  });

  test("fires at its deadline, neither early nor an interval late, with few polls in between", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    const at: number[] = [];
    const { calls, counted } = counting(timeouts);
    for (let i = 0; i < 20; i++) await arm(`i${i}`, 60_000 + i * 7_777);
    const fire: SweeperOptions["fire"] = async (timeout) => {
      at.push(world.wallNow() - timeout.deadline);
      return instances.expire(timeout);
    };
    sweep({ store: counted, fire, sweepInterval: "1h" });
    await world.advance(300_000);
    expect(instances.fired).toHaveLength(20);
    expect(Math.min(...at)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...at)).toBeLessThanOrEqual(10);
    expect(calls.looks).toBeLessThanOrEqual(42);
  });

  test("fires in time also when this process scheduled it after the last poll", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    sweep({ sweepInterval: "1h" });
    await world.advance(5_000);
    await arm("a", 2_000, timeouts);
    await world.advance(1_999);
    expect(instances.fired).toEqual([]);
    await world.advance(11);
    expect(instances.fired).toEqual(["a@1"]);
  });

  test("fires in time also when another process scheduled it, nearer than what this one sleeps until", async () => {
    const { world, instances, arm, sweep } = bench();
    await arm("far", 3_000_000);
    sweep({ sweepInterval: "1h" });
    await world.advance(5_000);
    await arm("near", 2_000);
    await world.advance(1_999);
    expect(instances.fired).toEqual([]);
    await world.advance(11);
    expect(instances.fired).toEqual(["near@1"]);
  });

  test("is found at the next poll when the store sends no wake", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    const { onScheduled: _, ...silent } = timeouts;
    sweep({ jitterFactor: 0, store: silent });
    await world.advance(1_000);
    await arm("a", 500);
    await world.advance(3_999);
    expect(instances.fired).toEqual([]);
    await world.advance(1);
    expect(instances.fired).toEqual(["a@1"]);
  });

  test("fires among a thousand at once, one batch after the other without a pause", async () => {
    const { world, instances, arm, sweep } = bench();
    for (let i = 0; i < 1_000; i++) await arm(`i${i}`, 1_000);
    const sweeper = sweep();
    await world.advance(1_020);
    expect(new Set(instances.fired).size).toBe(1_000);
    expect(instances.fired).toHaveLength(1_000);
    expect(sweeper.metrics().sweeps).toBeGreaterThanOrEqual(10);
  });

  test("fires after everything was down, at once, at the deadline it always had", async () => {
    const { world, instances, arm, sweep } = bench();
    await arm("a", 60_000);
    await world.advance(3_600_000);
    const deadlines: number[] = [];
    const start = world.wallNow();
    sweep({
      fire: async (timeout) => {
        deadlines.push(start - timeout.deadline);
        return instances.expire(timeout);
      },
    });
    await world.advance(10);
    expect(instances.fired).toEqual(["a@1"]);
    expect(deadlines).toEqual([3_540_000]);
  });
});

describe("ownership", () => {
  test("each fires on its own instance, though ids, states and sequences of two kinds are the same", async () => {
    const { world, store, instances, arm, sweep } = bench();
    const tickets = new Instances();
    const ticketTimeouts = timeoutStore(store, { scope: "ticket", world });
    for (let i = 0; i < 50; i++) {
      await arm(`i${i}`, 1_000);
      tickets.add(`i${i}`);
      await ticketTimeouts.schedule(`i${i}`, { state: "pending", sequence: 1, in: 5_000 });
    }
    sweep();
    sweep({ store: ticketTimeouts, fire: tickets.fire });
    await world.advance(2_000);
    expect([instances.fired.length, tickets.fired.length]).toEqual([50, 0]);
    await world.advance(10_000);
    expect([new Set(instances.fired).size, new Set(tickets.fired).size]).toEqual([50, 50]);
  });

  test("with three sweepers each timeout fires once, and a late sweeper counts a conflict", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    // All have polled before one claims.
    const slow: TimeoutStore = {
      ...timeouts,
      queryExpired: async (limit) => {
        const found = await timeouts.queryExpired(limit);
        await sleep(world, 50);
        return found;
      },
      complete: async (claim) => {
        await sleep(world, 50);
        return timeouts.complete(claim);
      },
    };
    for (let i = 0; i < 30; i++) await arm(`i${i}`, 1_000);
    const sweepers = ["n1", "n2", "n3"].map((nodeId) => sweep({ nodeId, store: slow }));
    await world.advance(20_000);
    expect(instances.fired).toHaveLength(30);
    expect(new Set(instances.fired).size).toBe(30);
    const sum = (name: "fired" | "claimConflicts" | "errors") =>
      sweepers.reduce((total, one) => total + one.metrics()[name], 0);
    expect([sum("fired"), sum("errors")]).toEqual([30, 0]);
    expect(sum("claimConflicts")).toBeGreaterThan(0);
  });
});

describe("an instance that moves on", () => {
  test("events that leave it in its state neither kill nor prolong its timeout", async () => {
    const { world, instances, arm, sweep } = bench();
    await arm("a", 10_000);
    sweep();
    for (let i = 0; i < 9; i++) {
      await world.advance(1_000);
      instances.send("a");
    }
    expect(instances.fired).toEqual([]);
    await world.advance(1_010);
    expect(instances.fired).toEqual(["a@1"]);
  });

  test("on another node, unnoticed by this one: its old timeout is skipped and removed", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    await arm("a", 1_000);
    const sweeper = sweep();
    instances.send("a", "started");
    await world.advance(2_000);
    expect(instances.get("a").state).toBe("started");
    expect(sweeper.metrics()).toMatchObject({ fired: 0, skipped: 1, errors: 0 });
    expect(await timeouts.get("a")).toBeNull();
  });

  test("and comes back to the same state: the old timeout is stale, the new one fires at its own time", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    await arm("a", 1_000);
    sweep();
    instances.send("a", "started");
    const { state, entered } = instances.send("a", "pending");
    await timeouts.schedule("a", { state, sequence: entered, in: 10_000 });
    await world.advance(9_999);
    expect(instances.fired).toEqual([]);
    await world.advance(11);
    expect(instances.fired).toEqual(["a@3"]);
  });

  test("between the claim and the firing: nothing fires in its new state, whose own timeout is not touched", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    await arm("a", 1_000);
    let moved = false;
    const racing: TimeoutStore = {
      ...timeouts,
      claim: async (...args) => {
        const answer = await timeouts.claim(...args);
        if (!moved) {
          moved = true;
          // It leaves and comes back: state and even the deadline look as before, the sequence does not.
          instances.send("a", "started");
          const { state, entered } = instances.send("a", "pending");
          await timeouts.schedule("a", { state, sequence: entered, in: 30_000 });
        }
        return answer;
      },
    };
    const sweeper = sweep({ store: racing });
    await world.advance(5_000);
    expect(instances.fired).toEqual([]);
    expect(await timeouts.get("a")).toMatchObject({ sequence: 3, claimedBy: null });
    expect(sweeper.metrics()).toMatchObject({ fired: 0, skipped: 1 });
    await world.advance(30_000);
    expect(instances.fired).toEqual(["a@3"]);
  });

  test("while its handler is at work: what the handler completes is its own timeout only", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    await arm("a", 1_000);
    const fire: SweeperOptions["fire"] = async (timeout) => {
      const outcome = instances.expire(timeout);
      const { state, entered } = instances.get("a");
      if (entered === 2) await timeouts.schedule("a", { state, sequence: entered, in: 60_000 });
      return outcome;
    };
    sweep({ fire });
    await world.advance(5_000);
    expect(await timeouts.get("a")).toMatchObject({ state: "expired", sequence: 2 });
  });

  test("whose timeout is cancelled or rescheduled between poll and claim: it is skipped, and nothing is claimed", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    await arm("gone", 1_000);
    await arm("moved", 1_000);
    const racing: TimeoutStore = {
      ...timeouts,
      queryExpired: async (limit) => {
        const found = await timeouts.queryExpired(limit);
        if (found.timeouts.length > 0) {
          await timeouts.cancel("gone");
          await timeouts.schedule("moved", { state: "pending", sequence: 9, in: "1h" });
        }
        return found;
      },
    };
    const sweeper = sweep({ store: racing });
    await world.advance(2_000);
    expect(sweeper.metrics()).toMatchObject({ fired: 0, skipped: 2, claimConflicts: 0 });
    expect(instances.fired).toEqual([]);
    expect(await timeouts.get("moved")).toMatchObject({ sequence: 9, claimedBy: null });
  });
});

describe("stopping", () => {
  test("ends the pause, begins nothing more, waits for running handlers, leaves no timer", async () => {
    const { world, instances, arm, sweep } = bench();
    await arm("a", 1_000);
    for (let i = 0; i < 5; i++) await arm(`more${i}`, 1_000);
    const sweeper = sweep({
      concurrency: 1,
      fire: async (timeout) => {
        await sleep(world, 3_000);
        return instances.expire(timeout);
      },
    });
    await world.advance(1_500);
    let stopped = false;
    const stopping = sweeper.stop().then(() => {
      stopped = true;
    });
    await world.advance(1_000);
    expect([stopped, sweeper.isRunning]).toEqual([false, false]);
    await world.advance(3_000);
    await stopping;
    expect(instances.fired).toEqual(["a@1"]);
    await world.advance(60_000);
    expect(instances.fired).toEqual(["a@1"]);
    expect(world.pendingTimers).toBe(0);
  });

  test("while it pauses is at once", async () => {
    const { world, sweep } = bench();
    const sweeper = sweep({ sweepInterval: "1h" });
    await world.advance(1_000);
    await sweeper.stop();
    expect(world.pendingTimers).toBe(0);
  });
});
