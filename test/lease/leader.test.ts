// Leaders in virtual time: one at a time, in doubt before the lease ends, handed over at once, not dropped by an error.

import { expect, test } from "vitest";
import { LeadershipEnded } from "../../src/lease/error.js";
import { createLeader, type LeaderOptions } from "../../src/lease/leader.js";
import type { Term } from "../../src/lease/leader-term.js";
import { storeClaims } from "../../src/lease/store-claims.js";
import type { WorkClaims } from "../../src/lease/work-claims.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { FakeClaims } from "../../src/testing/fake-claims.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

class StoreGone extends TypeError {}

function bench() {
  const world = new VirtualWorld();
  const claims = storeClaims(memoryStore({ world }).leases, { world });
  const told: string[] = [];
  const terms: Term[] = [];
  const candidate = (owner: string, changed: Partial<WorkClaims> = {}, more: Partial<LeaderOptions> = {}) => {
    const at = () => world.monotonicNow() / 1000;
    const leader = createLeader({
      key: "exports",
      lease: "30s",
      renew: "10s",
      owner,
      claims: { ...claims, ...changed },
      world,
      onElected: (term: Term) => {
        terms.push(term);
        told.push(`${owner} elected ${at()}`);
      },
      onResigned: (_term: Term, reason: string) => told.push(`${owner} ${reason} ${at()}`),
      ...more,
    } as LeaderOptions);
    leader.start();
    return leader;
  };
  return { world, claims, told, terms, candidate };
}

test("of three candidates one leads, and keeps leading", async () => {
  const { world, told, candidate } = bench();
  const all = ["a", "b", "c"].map((owner) => candidate(owner));
  await world.advance(600_000);
  expect(all.map((one) => one.isLeader())).toEqual([true, false, false]);
  expect(told).toEqual(["a elected 0"]);
});

test("resigning hands over at once, and a leader that resigned lets others campaign first", async () => {
  const { world, told, terms, candidate } = bench();
  const [a, b] = [candidate("a"), candidate("b")];
  await world.advance(12_300);
  await a.resign();
  expect(a.isLeader()).toBe(false);
  await world.advance(1_000);
  expect(b.isLeader()).toBe(true);
  expect(told.slice(0, 2)).toEqual(["a elected 0", "a resigned 12.3"]);
  expect(terms.map(({ fence }) => fence.epoch)).toEqual([1n, 2n]);
  await b.stop();
  await world.advance(30_000);
  expect(a.isLeader()).toBe(true);
});

test("a stopped leader hands over, campaigns no more and leaves no timer behind", async () => {
  const { world, candidate } = bench();
  const a = candidate("a");
  await world.advance(5_000);
  await a.stop();
  await world.advance(100_000);
  expect(a.isLeader()).toBe(false);
  expect(world.pendingTimers).toBe(0);
});

test("a leader that dies is replaced when its lease expires, not after two leases", async () => {
  const { world, claims, told, candidate } = bench();
  await claims.acquire("exports", "dead", { leaseMs: 30_000 });
  candidate("b");
  await world.advance(29_999);
  expect(told).toEqual([]);
  await world.advance(1_001);
  expect(told).toHaveLength(1);
});

test("an error while renewing drops nothing: the leader keeps leading, and the error is reported", async () => {
  let away = false;
  const errors: unknown[] = [];
  const { world, claims, told, candidate } = bench();
  const renew: WorkClaims["renew"] = async (...args) => {
    if (away) throw new StoreGone("away");
    return claims.renew(...args);
  };
  const a = candidate("a", { renew }, { onError: (error) => errors.push(error) });
  candidate("b");
  await world.advance(9_000);
  away = true;
  await world.advance(10_000);
  expect(a.isLeader()).toBe(true);
  expect(errors.length).toBeGreaterThanOrEqual(3);
  away = false;
  await world.advance(60_000);
  expect(told).toEqual(["a elected 0"]);
});

test("a leader in doubt ends its term before its lease ends, and leads again when a renewal is accepted", async () => {
  let away = false;
  const { world, claims, told, terms, candidate } = bench();
  const renew: WorkClaims["renew"] = async (...args) => {
    if (away) throw new StoreGone("away");
    return claims.renew(...args);
  };
  const a = candidate("a", { renew });
  await world.advance(20_500);
  away = true;
  // The last accepted renewal was sent at 20 s: its lease ends at 50 s.
  await world.advance(26_400);
  expect(a.isLeader()).toBe(true);
  await world.advance(200);
  expect(a.isLeader()).toBe(false);
  expect(terms[0]!.signal.reason).toBeInstanceOf(LeadershipEnded);
  expect(terms[0]!.signal.reason).toMatchObject({ code: "LEADERSHIP_ENDED", reason: "doubt", key: "exports" });
  away = false;
  await world.advance(3_000);
  expect(a.isLeader()).toBe(true);
  expect(told.map((line) => line.replace(/ [\d.]+$/, ""))).toEqual(["a elected", "a doubt", "a elected"]);
  expect(told[1]).toBe("a doubt 47");
  // No other candidate held it in between.
  expect(terms[1]!.fence).toEqual(terms[0]!.fence);
  expect(terms[1]!.signal.aborted).toBe(false);
});

test("a renewal that never answers is doubt, too", async () => {
  const { world, told, candidate } = bench();
  const a = candidate("a", { renew: () => new Promise(() => {}) });
  await world.advance(27_001);
  expect(a.isLeader()).toBe(false);
  expect(told).toEqual(["a elected 0", "a doubt 27"]);
});

test("a process that was stopped for longer than its lease does not believe that it leads, before any timer has run", async () => {
  const { world, candidate } = bench();
  const a = candidate("a");
  await world.advance(1_000);
  world.block(40_000);
  expect(a.isLeader()).toBe(false);
  expect(a.term).toBeNull();
});

test("two never lead at the same time, however renewals and processes stop", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const world = new VirtualWorld({ seed });
    const claims = storeClaims(memoryStore({ world }).leases, { world });
    let both = 0;
    const flaky = <T>(call: () => Promise<T>): Promise<T> => {
      const chance = world.random();
      if (chance < 0.4) return Promise.reject(new StoreGone("away"));
      return chance < 0.5 ? new Promise(() => {}) : call();
    };
    const leaders = ["a", "b", "c"].map((owner) =>
      createLeader({
        ...{ key: "k", lease: "30s", renew: "10s", owner, world },
        claims: { ...claims, renew: (...args) => flaky(() => claims.renew(...args)) },
      }),
    );
    for (const leader of leaders) leader.start();
    let elected = 0;
    for (let i = 0; i < 600; i++) {
      await world.advance(1_000);
      const leading = leaders.filter((leader) => leader.isLeader()).length;
      if (leading > 1) both++;
      elected += leading;
    }
    expect({ seed, both }).toEqual({ seed, both: 0 });
    expect(elected).toBeGreaterThan(100);
  }
});

test("when the lease is lost, the term ends at the answer", async () => {
  const { world, claims, told, candidate } = bench();
  candidate("a", { renew: async () => false, acquire: once(claims.acquire) });
  await world.advance(10_001);
  expect(told).toEqual(["a elected 0", "a lost 10"]);
});

test("a callback that throws disturbs nothing", async () => {
  const errors: unknown[] = [];
  const { world, candidate } = bench();
  const a = candidate(
    "a",
    {},
    {
      onElected: () => {
        throw new StoreGone("elected");
      },
      onResigned: async () => {
        throw new StoreGone("resigned");
      },
      onError: (error) => errors.push(error),
    },
  );
  await world.advance(20_000);
  expect(a.isLeader()).toBe(true);
  await a.stop();
  expect(errors).toHaveLength(2);
});

test("stop does not wait for an unavailable store", async () => {
  const { world, candidate } = bench();
  const a = candidate("a", { acquire: () => new Promise(() => {}) });
  const stopping = a.stop();
  await world.advance(2_001);
  await stopping;
});

test("a lease that is granted while it stops is released", async () => {
  const { world, claims, told, candidate } = bench();
  let grant = () => {};
  const a = candidate("a", {
    acquire: async (...args) => {
      await new Promise<void>((resolve) => {
        grant = resolve;
      });
      return claims.acquire(...args);
    },
  });
  await world.settle();
  const stopping = a.stop();
  grant();
  await world.advance(100);
  await stopping;
  expect(told).toEqual([]);
  expect(await claims.get("exports")).toMatchObject({ state: "done" });
});

test("FakeClaims and any other adapter work, also without release and owns", async () => {
  const world = new VirtualWorld();
  const fake = new FakeClaims({ world });
  const claims: WorkClaims = {
    acquire: (...args) => fake.acquire(...args),
    renew: (...args) => fake.renew(...args),
    complete: (...args) => fake.complete(...args),
    fail: (...args) => fake.fail(...args),
    reclaimExpired: (limit) => fake.reclaimExpired(limit),
  };
  const [a, b] = ["a", "b"].map((owner) => createLeader({ claims, key: "k", owner, world }));
  a!.start();
  await world.settle();
  b!.start();
  await world.advance(30_000);
  await a!.stop();
  await world.advance(1_000);
  expect([a!.isLeader(), b!.isLeader()]).toEqual([false, true]);
});

test("renew must be less than lease, and both must be valid", () => {
  const make = (timing: object) => () => createLeader({ claims: new FakeClaims(), key: "k", owner: "a", ...timing });
  expect(make({ lease: "30s", renew: "30s" })).toThrow(/renew: must be from 1 ms to less than the lease \(30s\)/);
  expect(make({ lease: "30s", renew: "31s" })).toThrow(/renew/);
  expect(make({ lease: "30s", renew: 0 })).toThrow(/renew/);
  expect(make({ lease: "50ms" })).toThrow(/lease: must be 100 ms or more/);
  expect(make({ key: "" })).toThrow(/key/);
  expect(make({ lease: "30s", renew: "29s" })).not.toThrow();
});

function once<Args extends unknown[], T>(call: (...args: Args) => Promise<T>): (...args: Args) => Promise<T> {
  let called = false;
  return (...args) => {
    if (called) return new Promise(() => {});
    called = true;
    return call(...args);
  };
}
