// The sweeper in virtual time when handlers fail, hang or kill, and when the store does: nothing delays the others.

import { describe, expect, test } from "vitest";
import { sleep } from "../../src/kernel/world.js";
import { StoreRefused } from "../../src/store/postgres/connection/errors.js";
import { bench, counting, HandlerFailed } from "./sweeper-scene.js";

describe("a handler", () => {
  test("that fails is retried later and later, and starves no other", async () => {
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

  test("that fails by an error of the store is released uncounted, however often, and fires when the store is back", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    let refused = true;
    await arm("a", 1_000);
    const sweeper = sweep({
      maxAttempts: 3,
      fire: async (timeout) => {
        if (refused) throw new StoreRefused("insert", Object.assign(new Error("no password"), { code: "28P01" }));
        return instances.expire(timeout);
      },
    });
    await world.advance(60_000);
    expect(sweeper.metrics()).toMatchObject({ fired: 0, dead: 0 });
    expect((await timeouts.get("a"))!.attempts).toBeLessThanOrEqual(1);
    refused = false;
    await world.advance(5_000);
    expect(instances.fired).toHaveLength(1);
  });

  test("that always fails is given up after its attempts, kept and shown; retried it is tried again", async () => {
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
    expect([await timeouts.retry("a"), await timeouts.retry("a"), await timeouts.retry("b")]).toEqual([
      ...[true, false, false],
    ]);
    await world.advance(20);
    expect(instances.fired).toEqual(["b@1", "a@1"]);
    expect(await timeouts.dead(10)).toEqual([]);
  });

  test("that kills its process is given up, too: a claim whose process died is an attempt", async () => {
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
    expect(await timeouts.get("a")).toMatchObject({
      dead: true,
      problem: expect.stringContaining("died before firing it"),
    });
    // The instance moved: what is scheduled now is another timeout.
    await timeouts.schedule("a", { state: "pending", sequence: 1, in: 10 });
    await world.advance(20);
    expect(instances.fired).toEqual(["a@1"]);
  });

  test("that is fixed fires at its next attempt", async () => {
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

  test("that hangs keeps one place until its claim expires, is aborted, and starves no other", async () => {
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

  test("that outlives its claim fires once with the next claimer, and completes nothing of the new claim", async () => {
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
  test("whose calls fail here and there: the rest of the batch continues, and all fire once in the end", async () => {
    const { world, timeouts, instances, arm, sweep } = bench();
    let calls = 0;
    const flaky = <T>(call: () => Promise<T>): Promise<T> => {
      // Two of seven: a round of one timeout has three calls, and none of them may be the one that always fails.
      if ([3, 6].includes(++calls % 7)) throw new HandlerFailed("away");
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

  test("whose rows are all locked is polled at the pace of the interval, not in a spin", async () => {
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
