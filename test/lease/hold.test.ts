// Holding a lease: renewed while the work runs, ended with it, aborted when it is lost.

import { expect, test } from "vitest";
import { sleep } from "../../src/kernel/world.js";
import { LeaseLost, LeaseMisused } from "../../src/lease/error.js";
import type { HoldScope } from "../../src/lease/held-lease.js";
import { heldLease, latch, leaseBench, namesOf } from "./lease-bench.js";

class StoreGone extends TypeError {}

test("a lease is renewed at a third of its duration, completed when the work returns, and leaves no timer behind", async () => {
  const { world, events, a, b } = leaseBench();
  const lease = await heldLease(a);
  const done = lease.hold(async (s) => {
    await sleep(world, 10_500);
    return [s.key, s.attempt, s.fence, s.signal.aborted, s.inDoubt()];
  });
  await world.advance(9_999);
  expect((await b.acquire("k", { for: "3s" })).ok).toBe(false);
  await world.advance(501);
  expect(await done).toEqual(["k", 1, { epoch: 1n, token: lease.token }, false, false]);
  const renewedAt = events.filter(({ name }) => name === "lease.renewed").map(({ at }) => (at as number) % 60_000);
  expect(renewedAt).toEqual([1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000]);
  expect(events.at(-1)).toMatchObject({ name: "lease.completed", key: "k", owner: "a", count: 1 });
  expect(world.pendingTimers).toBe(0);
  expect(await a.get("k")).toMatchObject({ state: "done", owner: "a" });
});

test("renewEvery sets the pace", async () => {
  const { world, events, a } = leaseBench();
  const lease = await heldLease(a, "k", { for: "3s", renewEvery: "2900ms" });
  const done = lease.hold(() => sleep(world, 6_000));
  await world.advance(6_000);
  await done;
  expect(namesOf(events)).toEqual(["acquired", "renewed", "renewed", "completed"]);
});

test("an error of the work is recorded and rethrown", async () => {
  const { world, events, a } = leaseBench();
  const thrown = new RangeError("no paper\0 left \ud800");
  const lease = await heldLease(a);
  await expect(
    lease.hold(() => {
      throw thrown;
    }),
  ).rejects.toBe(thrown);
  expect(await a.get("k")).toMatchObject({ state: "failed", detail: "RangeError: no paper\ufffd left \ufffd" });
  expect(events.at(-1)).toMatchObject({ name: "lease.failed", key: "k", owner: "a", count: 1 });
  expect(world.pendingTimers).toBe(0);
  expect((await heldLease(a)).attempt).toBe(2);
});

test("a renewal that proves the loss aborts at once; LeaseLost is thrown though the work swallows it", async () => {
  const { world, events, a, b } = leaseBench();
  const lease = await heldLease(a);
  let seen: unknown;
  const done = lease.hold(async (s) => {
    await new Promise((resolve) => s.signal.addEventListener("abort", resolve));
    seen = s.signal.reason;
    return "as if nothing had happened";
  });
  const outcome = done.catch((error) => error);
  world.block(4_000);
  await heldLease(b);
  await world.advance(0);
  const error = await outcome;
  expect(error).toBeInstanceOf(LeaseLost);
  expect(error).toMatchObject({ code: "LEASE_LOST", key: "k", epoch: 1 });
  expect(seen).toBe(error);
  expect(namesOf(events)).toEqual(["acquired", "steal", "renew_failed", "lost"]);
  expect(events[2]).toMatchObject({ reason: "lost", owner: "a" });
  expect(world.pendingTimers).toBe(0);
  expect(await lease.owns()).toBe(false);
  await expect(lease.complete()).rejects.toBe(error);
});

test("work that throws because it was aborted: LeaseLost, with its error as the cause", async () => {
  const { world, a, b } = leaseBench();
  const run = async (work: (s: HoldScope) => Promise<unknown>) => {
    const lease = await heldLease(a);
    const outcome = lease.hold(work).catch((error) => error);
    world.block(4_000);
    const taken = await heldLease(b);
    await world.advance(0);
    await taken.complete();
    return outcome;
  };
  const own = new RangeError("connection closed");
  const wrapped = await run(async (s) => {
    await new Promise((resolve) => s.signal.addEventListener("abort", resolve));
    throw own;
  });
  expect(wrapped).toBeInstanceOf(LeaseLost);
  expect((wrapped as LeaseLost).cause).toBe(own);
  const plain = await run((s) => sleep(world, 60_000, s.signal));
  expect(plain).toBeInstanceOf(LeaseLost);
  expect((plain as LeaseLost).cause).toBeUndefined();
});

test("when work ends after an unnoticed steal, its end is refused, and no success is reported", async () => {
  const { world, events, a, b } = leaseBench();
  for (const work of [() => "fine", () => Promise.reject(new RangeError("not fine"))]) {
    const lease = await heldLease(a);
    const finish = latch();
    const outcome = lease.hold(() => finish.passed.then(work)).catch((error) => error);
    world.block(4_000);
    const taken = await heldLease(b);
    events.length = 0;
    finish.open();
    expect(await outcome).toBeInstanceOf(LeaseLost);
    expect(lease.signal.aborted).toBe(true);
    expect(namesOf(events)).toEqual(["lost"]);
    await taken.complete();
  }
});

test("an unavailable store is no loss: hold renews sooner, reports each error, and continues when the store is back", async () => {
  let away = false;
  const { world, events, a } = leaseBench((claims) => ({
    renew: (...args) => (away ? Promise.reject(new StoreGone("away")) : claims.renew(...args)),
  }));
  const lease = await heldLease(a, "k", { for: "12s" });
  let scope: HoldScope | undefined;
  const finish = latch();
  const done = lease.hold((s) => {
    scope = s;
    return finish.passed;
  });
  await world.advance(4_000);
  away = true;
  await world.advance(11_999);
  expect(scope!.inDoubt()).toBe(false);
  const errors = events.filter(({ name }) => name === "lease.renew_failed");
  expect(errors).toHaveLength(8);
  expect(errors[0]).toMatchObject({ reason: "error", error: expect.any(StoreGone), key: "k", owner: "a", count: 1 });
  await world.advance(1);
  expect(scope!.inDoubt()).toBe(true);
  expect(lease.inDoubt()).toBe(true);
  expect(scope!.signal.aborted).toBe(false);
  away = false;
  await world.advance(1_000);
  expect(scope!.inDoubt()).toBe(false);
  finish.open();
  await done;
  expect(namesOf(events).at(-1)).toBe("completed");
});

test("work that ends in doubt is completed if the lease was not taken over", async () => {
  const { world, a } = leaseBench(() => ({ renew: () => Promise.reject(new StoreGone("away")) }));
  const lease = await heldLease(a);
  const done = lease.hold(async (s) => {
    await sleep(world, 5_000);
    return s.inDoubt();
  });
  await world.advance(5_000);
  expect(await done).toBe(true);
  expect((await a.get("k"))?.state).toBe("done");
});

test("doubt counts from when the accepted call was sent, not from its answer", async () => {
  const { world, a } = leaseBench((claims) => ({
    acquire: async (...args) => {
      const answer = await claims.acquire(...args);
      await sleep(world, 2_000);
      return answer;
    },
  }));
  const asked = heldLease(a);
  await world.advance(2_000);
  const lease = await asked;
  world.block(999);
  expect(lease.inDoubt()).toBe(false);
  world.block(1);
  expect(lease.inDoubt()).toBe(true);
});

test("slow answers push neither the next renewal back nor the doubt", async () => {
  const sentAt: number[] = [];
  const { world, a } = leaseBench((claims) => ({
    renew: async (...args) => {
      sentAt.push(world.monotonicNow());
      if (sentAt.length > 2) return new Promise(() => {});
      const held = await claims.renew(...args);
      await sleep(world, 800);
      return held;
    },
  }));
  const lease = await heldLease(a);
  const finish = latch();
  const done = lease.hold(() => finish.passed);
  await world.advance(4_999);
  expect(sentAt).toEqual([1_000, 2_000, 3_000]);
  expect(lease.inDoubt()).toBe(false);
  await world.advance(1);
  expect(lease.inDoubt()).toBe(true);
  finish.open();
  await done;
});

test("after a block longer than the lease the first thing is a renewal", async () => {
  const { world, events, a } = leaseBench();
  const lease = await heldLease(a);
  const finish = latch();
  const done = lease.hold(() => finish.passed);
  await world.settle();
  const order: string[] = [];
  events.push = (event) => order.push(event.name);
  world.after(1_500, () => order.push("another timer"));
  world.block(10_000);
  expect(lease.inDoubt()).toBe(true);
  await world.advance(0);
  expect(order).toEqual(["lease.renewed", "another timer"]);
  expect(lease.inDoubt()).toBe(false);
  finish.open();
  await done;
});

test("a renewer that throws is restarted, and the lease does not expire", async () => {
  const { world, events, a, b } = leaseBench();
  const bug = new TypeError("a bug in the renewer");
  let kills = 0;
  world.onFaultPoint = (name) => {
    if (name === "lease.renew" && kills++ < 3) throw bug;
  };
  const lease = await heldLease(a);
  const done = lease.hold(() => sleep(world, 9_000));
  await world.advance(2_999);
  expect(events.filter(({ name }) => name === "lease.renewer_restarted")).toHaveLength(3);
  expect(events).toContainEqual(expect.objectContaining({ name: "lease.renewer_restarted", key: "k", error: bug }));
  expect(namesOf(events)).toContain("renewed");
  await world.advance(3_000);
  expect((await b.acquire("k", { for: "3s" })).ok).toBe(false);
  await world.advance(3_001);
  await done;
  expect(world.pendingTimers).toBe(0);
});

test("a listener that throws, and an adapter that throws instead of rejecting, do not stop the renewing", async () => {
  let calls = 0;
  const { world, bus, events, a } = leaseBench((claims) => ({
    renew: (...args) => {
      if (calls++ === 0) throw new StoreGone("not even a promise");
      return claims.renew(...args);
    },
  }));
  bus.on("lease.renew_failed", () => {
    throw new TypeError("listener");
  });
  bus.on("lease.renewed", async () => {
    throw new TypeError("listener");
  });
  const done = (await heldLease(a)).hold(() => sleep(world, 4_000));
  await world.advance(4_000);
  await done;
  expect(namesOf(events).filter((name) => name === "renewed").length).toBeGreaterThanOrEqual(2);
  expect(bus.listenerErrors).toBeGreaterThanOrEqual(3);
});

test("a renewal that is never answered does not end the renewing", async () => {
  let calls = 0;
  const { world, a } = leaseBench((claims) => ({
    renew: (...args) => (calls++ === 0 ? new Promise(() => {}) : claims.renew(...args)),
  }));
  const lease = await heldLease(a);
  const finish = latch();
  const done = lease.hold(() => finish.passed);
  await world.advance(3_900);
  expect(lease.inDoubt()).toBe(true);
  await world.advance(400);
  expect(lease.inDoubt()).toBe(false);
  finish.open();
  await done;
  expect(world.pendingTimers).toBe(0);
});

test("an answer to a renewal that comes after the end is ignored, and nothing waits for it", async () => {
  for (const answering of ["no", "error"]) {
    const answer = latch<boolean>();
    const { world, events, a } = leaseBench(() => ({ renew: () => answer.passed }));
    const lease = await heldLease(a);
    const done = lease.hold(() => sleep(world, 1_500));
    await world.advance(1_500);
    await done;
    expect(world.pendingTimers).toBe(0);
    if (answering === "no") answer.open(false);
    else answer.fail(new StoreGone("away"));
    await world.settle();
    expect(namesOf(events)).toEqual(["acquired", "completed"]);
    expect(lease.signal.aborted).toBe(false);
    expect(world.pendingTimers).toBe(0);
  }
});

test("an end that cannot be written: the work's own error is thrown, or the store's; it can be tried again", async () => {
  let away = true;
  const gone = new StoreGone("away");
  const { events, a } = leaseBench((claims) => ({
    complete: (...args) => (away ? Promise.reject(gone) : claims.complete(...args)),
    fail: () => Promise.reject(gone),
  }));
  const lease = await heldLease(a, "k1");
  await expect(lease.hold(() => 1)).rejects.toBe(gone);
  away = false;
  await lease.complete();
  const own = new RangeError("my own");
  const second = await heldLease(a, "k2");
  await expect(second.hold(() => Promise.reject(own))).rejects.toBe(own);
  expect(namesOf(events)).toEqual(["acquired", "end_failed", "completed", "acquired", "end_failed"]);
  expect(events[1]).toMatchObject({ call: "complete", error: gone });
});

test("the work may end the lease itself; hold adds nothing", async () => {
  const { events, a } = leaseBench();
  const lease = await heldLease(a);
  expect(
    await lease.hold(async () => {
      await lease.fail("not today");
      return 7;
    }),
  ).toBe(7);
  expect(namesOf(events)).toEqual(["acquired", "failed"]);
});

test("hold can be called once, and not on a lease that has ended", async () => {
  const { a } = leaseBench();
  const lease = await heldLease(a);
  const finish = latch();
  const first = lease.hold(() => finish.passed);
  await expect(lease.hold(() => 1)).rejects.toThrow(LeaseMisused);
  finish.open();
  await first;
  await expect(lease.hold(() => 1)).rejects.toMatchObject({ code: "LEASE_MISUSED" });
});
