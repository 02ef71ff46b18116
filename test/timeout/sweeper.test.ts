// The sweeper in virtual time: what is due fires once, on its own instance, in time, and nothing holds it up.

import { afterEach, describe, expect, test } from "vitest";
import { sleep } from "../../src/kernel/world.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { timeoutStore } from "../../src/timeout/store-timeouts.js";
import { TimeoutSweeper } from "../../src/timeout/sweeper.js";
import type { SweeperOptions } from "../../src/timeout/sweeper-options.js";
import type { TimeoutStore } from "../../src/timeout/timeout-store.js";
import { Instances } from "./instances.js";

class HandlerFailed extends TypeError {}

const open: { readonly world: VirtualWorld; readonly sweeper: TimeoutSweeper }[] = [];
afterEach(async () => {
  for (const { world, sweeper } of open.splice(0)) {
    const stopping = sweeper.stop();
    await world.advance(60_000);
    await stopping;
  }
});

function bench() {
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  const timeouts = timeoutStore(store, { scope: "order", world });
  const instances = new Instances();
  /** As another process would: without a word to this one's sweeper. */
  const elsewhere = timeoutStore(store, { scope: "order", world });
  const arm = async (id: string, ms: number, by: TimeoutStore = elsewhere) => {
    const { state, entered } = instances.add(id);
    return by.schedule(id, { state, sequence: entered, in: ms });
  };
  const sweep = (options: Partial<SweeperOptions> = {}) => {
    const sweeper = new TimeoutSweeper({
      store: timeouts,
      fire: instances.fire,
      nodeId: "n1",
      world,
      ...options,
    }).start();
    open.push({ world, sweeper });
    return sweeper;
  };
  return { world, store, timeouts, elsewhere, instances, arm, sweep };
}

const counting = (store: TimeoutStore) => {
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

describe("what is due", () => {
  test("fires, is counted and is gone; what is not due stays", async () => {
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

  test("fires at its deadline, neither early nor an interval late, with few looks between", async () => {
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

  test("fires in time also when it was scheduled after the last look, by this process", async () => {
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

  test("is found at the next look when the store tells nobody", async () => {
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

  test("of a thousand at once all fire, a batch after the other without a pause", async () => {
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

describe("whose it is", () => {
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

  test("three sweepers: each fires once, and who came late is counted as a conflict", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    // All have looked before anybody claims.
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

  test("on another node, unseen by this one: its old timeout is skipped and removed", async () => {
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

  test("cancelled or scheduled anew between the look and the claim: skipped, and nothing is claimed", async () => {
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

describe("a handler", () => {
  test("that fails is tried again later and later, and starves nobody", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    let tries = 0;
    for (let i = 0; i < 300; i++) await arm(`poison${i}`, 1_000);
    for (let i = 0; i < 50; i++) await arm(`good${i}`, 1_001);
    const failed: number[] = [];
    const sweeper = sweep({
      fire: async (timeout) => {
        if (!timeout.instance.startsWith("poison")) return instances.expire(timeout);
        tries++;
        throw new HandlerFailed("no");
      },
    });
    sweeper.on("timeout.failed", ({ instance, retryInMs }) => {
      if (instance === "poison0") failed.push(retryInMs!);
    });
    await world.advance(1_100);
    expect(instances.fired).toHaveLength(50);
    expect(sweeper.metrics()).toMatchObject({ fired: 50, errors: 300 });
    await world.advance(600_000);
    // 1 s, 2 s, 4 s … 256 s: about ten tries in ten minutes, not one every sweep.
    expect(tries).toBeLessThanOrEqual(300 * 13);
    expect(failed.length).toBeGreaterThanOrEqual(8);
    expect(failed.every((ms, i) => ms <= 2 ** i * 1_000 && ms >= 0.79 * Math.min(2 ** i * 1_000, 300_000))).toBe(true);
    const { attempts } = (await timeouts.get("poison0"))!;
    expect(attempts).toBe(failed.length);
  });

  test("that always fails is given up after its attempts, kept and shown; redriven it is tried again", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    let broken = true;
    await arm("a", 1_000);
    await arm("b", 1_000);
    const dead: string[] = [];
    const sweeper = sweep({
      maxAttempts: 4,
      fire: async (timeout) => {
        if (timeout.instance === "a" && broken) throw new HandlerFailed("no \0 today");
        return instances.expire(timeout);
      },
    });
    sweeper.on("timeout.dead", ({ instance, attempts }) => dead.push(`${instance} ${attempts}`));
    await world.advance(3_600_000);
    expect(dead).toEqual(["a 4"]);
    expect(sweeper.metrics()).toMatchObject({ fired: 1, errors: 4, dead: 1 });
    expect(await timeouts.dead(10)).toMatchObject([
      { instance: "a", dead: true, problem: expect.stringMatching("today") },
    ]);
    broken = false;
    expect([await timeouts.redrive("a"), await timeouts.redrive("a"), await timeouts.redrive("b")]).toEqual([
      ...[true, false, false],
    ]);
    await world.advance(20);
    expect(instances.fired).toEqual(["b@1", "a@1"]);
    expect(await timeouts.dead(10)).toEqual([]);
  });

  test("that kills its process is given up, too: a claim nobody came back from is an attempt", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    await arm("a", 0);
    await world.advance(1);
    for (let crash = 0; crash < 3; crash++) {
      const { timeouts: due } = await timeouts.queryExpired(1);
      expect(await timeouts.claim(due[0]!, "gone", { claimMs: 1_000 })).toMatchObject({ outcome: "claimed" });
      await world.advance(1_000);
    }
    const sweeper = sweep({ maxAttempts: 3 });
    await world.advance(10);
    expect(instances.fired).toEqual([]);
    expect(sweeper.metrics()).toMatchObject({ dead: 1, errors: 0 });
    expect(await timeouts.get("a")).toMatchObject({ dead: true, problem: expect.stringContaining("never came back") });
    // The instance went on: what is scheduled anew is another timeout.
    await timeouts.schedule("a", { state: "pending", sequence: 1, in: 10 });
    await world.advance(20);
    expect(instances.fired).toEqual(["a@1"]);
  });

  test("that is mended fires at its next try", async () => {
    const { world, instances, arm, sweep } = bench();
    let broken = true;
    await arm("a", 1_000);
    sweep({
      fire: async (timeout) => {
        if (broken) throw new HandlerFailed("no");
        return instances.expire(timeout);
      },
    });
    await world.advance(1_500);
    broken = false;
    await world.advance(1_000);
    expect(instances.fired).toEqual(["a@1"]);
  });

  test("that hangs keeps one place until its claim is over, is told to stop, and starves nobody", async () => {
    const { world, instances, arm, sweep } = bench();
    await arm("hangs", 1_000);
    let reason: unknown;
    const sweeper = sweep({
      concurrency: 1,
      claimDuration: "5s",
      fire: async (timeout, { signal }) => {
        if (timeout.instance !== "hangs") return instances.expire(timeout);
        signal.addEventListener("abort", () => {
          reason = signal.reason;
        });
        return new Promise(() => {});
      },
    });
    await world.advance(1_500);
    await arm("good", 1_000);
    await world.advance(30_000);
    expect(instances.fired).toEqual(["good@1"]);
    expect(reason).toMatchObject({ code: "TIMEOUT_CLAIM_OVER", instance: "hangs" });
    expect(sweeper.metrics().errors).toBeGreaterThanOrEqual(1);
  });

  test("that outlives its claim fires once with whoever takes over, and completes nothing of theirs", async () => {
    const { world, instances, timeouts, arm, sweep } = bench();
    await arm("a", 1_000);
    const lateCompletes: boolean[] = [];
    const slow = sweep({
      nodeId: "slow",
      claimDuration: "2s",
      store: {
        ...timeouts,
        complete: async (claim, options) => {
          const accepted = await timeouts.complete(claim, options);
          lateCompletes.push(accepted);
          return accepted;
        },
      },
      fire: async (timeout) => {
        await sleep(world, 20_000);
        return instances.expire(timeout);
      },
    });
    await world.advance(1_100);
    sweep({ nodeId: "quick" });
    await world.advance(30_000);
    expect(instances.fired).toEqual(["a@1"]);
    expect(lateCompletes).toEqual([false]);
    expect(slow.metrics()).toMatchObject({ fired: 0, skipped: 1, errors: 1 });
  });

  test("that answers neither fired nor stale has failed, and its timeout is kept", async () => {
    const { world, timeouts, arm, sweep } = bench();
    await arm("a", 1_000);
    const sweeper = sweep({ fire: (() => true) as never });
    const told: unknown[] = [];
    sweeper.on("timeout.failed", ({ error }) => told.push(error));
    await world.advance(1_100);
    expect(told).toMatchObject([{ code: "TIMEOUT_UNANSWERED", instance: "a" }]);
    expect(await timeouts.get("a")).toMatchObject({ attempts: 1 });
  });
});

describe("a store", () => {
  test("whose calls fail here and there: the rest of the batch goes on, and all fire once in the end", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    let calls = 0;
    const flaky = <T>(call: () => Promise<T>): Promise<T> => {
      if (++calls % 3 === 0) throw new HandlerFailed("away");
      return call();
    };
    for (let i = 0; i < 40; i++) await arm(`i${i}`, 1_000);
    const sweeper = sweep({
      store: {
        ...timeouts,
        queryExpired: async (limit) => flaky(() => timeouts.queryExpired(limit)),
        claim: async (...args) => flaky(() => timeouts.claim(...args)),
        complete: async (...args) => flaky(() => timeouts.complete(...args)),
      },
    });
    const during = new Set<string>();
    sweeper.on("sweeper.error", (event) => during.add(event.during));
    await world.advance(1_100);
    expect(instances.fired.length).toBeGreaterThan(10);
    await world.advance(600_000);
    expect(instances.fired).toHaveLength(40);
    expect(new Set(instances.fired).size).toBe(40);
    expect((await timeouts.queryExpired(10)).timeouts).toEqual([]);
    expect(sweeper.metrics().errors).toBeGreaterThan(10);
    expect([...during].sort()).toEqual(["claim", "complete", "look"]);
  });

  test("whose rows are all locked by others is asked at the pace of the interval, not in a spin", async () => {
    const { world, timeouts, arm, sweep } = bench();
    for (let i = 0; i < 5; i++) await arm(`i${i}`, 0);
    const { calls, counted } = counting({
      ...timeouts,
      claim: async () => ({ outcome: "alreadyClaimed", by: null, until: null }),
    });
    const sweeper = sweep({ store: counted, batchSize: 5 });
    await world.advance(60_000);
    expect(calls.looks).toBeLessThanOrEqual(14);
    expect(sweeper.metrics().claimConflicts).toBe(calls.claims);
  });
});

test("handlers that all fail on a store that forgets when to try again are called about once a second, not in a spin", async () => {
  const { world, timeouts, arm, sweep } = bench();
  for (let i = 0; i < 5; i++) await arm(`i${i}`, 0);
  let tries = 0;
  sweep({
    batchSize: 5,
    store: { ...timeouts, release: (claim) => timeouts.release(claim) },
    fire: async () => {
      tries++;
      throw new HandlerFailed("no");
    },
  });
  await world.advance(60_000);
  expect(tries).toBeGreaterThan(50);
  expect(tries).toBeLessThan(600);
});

describe("stopping", () => {
  test("ends the pause, begins nothing more, waits for what is under way, leaves no timer", async () => {
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
