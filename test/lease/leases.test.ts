// Acquiring, ending and looking at leases; the events of work claims; FakeClaims.

import { expect, test } from "vitest";
import { InvalidInput, LimitExceeded } from "../../src/kernel/error.js";
import { LeaseLost, LeaseMisused, LeaseUnsupported } from "../../src/lease/error.js";
import type { LeaseEvents } from "../../src/lease/lease-events.js";
import { createLeases } from "../../src/lease/leases.js";
import { ReportedClaims } from "../../src/lease/reported-claims.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { createBus } from "../../src/telemetry/bus.js";
import { FakeClaims } from "../../src/testing/fake-claims.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { heldLease, leaseBench, namesOf, record } from "./lease-bench.js";

test("the second caller learns who holds the lease and for how long", async () => {
  const { world, events, a, b } = leaseBench();
  const lease = await heldLease(a);
  expect(lease).toMatchObject({ ok: true, key: "k", owner: "a", epoch: 1, attempt: 1 });
  await world.advance(1_200);
  const busy = await b.acquire("k", { for: "3s" });
  expect(busy).toMatchObject({ ok: false, reason: "busy", owner: "a", leftMs: 1_800 });
  expect(events).toEqual([
    expect.objectContaining({ name: "lease.acquired", key: "k", owner: "a", count: 1, durationMs: 0, attempt: 1 }),
    expect.objectContaining({ name: "lease.busy", key: "k", owner: "b", count: 1, durationMs: 0, heldBy: "a" }),
  ]);
});

test("a steal is reported as such; taking a failed or a finished key is not", async () => {
  const { world, events, a, b } = leaseBench();
  await heldLease(a);
  await world.advance(3_000);
  const stolen = await heldLease(b);
  expect(stolen).toMatchObject({ attempt: 2, epoch: 2, fence: { epoch: 2n, token: stolen.token } });
  expect(events.at(-1)).toMatchObject({ name: "lease.steal", owner: "b", stolenFrom: "a", count: 1, attempt: 2 });
  await stolen.fail("no");
  expect((await heldLease(a)).attempt).toBe(3);
  expect(events.at(-1)?.name).toBe("lease.acquired");
});

test("a late owner's complete, fail, release and renew are refused and report no success", async () => {
  const { world, events, a, b } = leaseBench();
  for (const call of ["complete", "fail", "release", "renew"] as const) {
    const late = await heldLease(a, call);
    await world.advance(3_000);
    await heldLease(b, call);
    events.length = 0;
    await expect(late[call]("why")).rejects.toThrow(LeaseLost);
    expect(late.signal.aborted).toBe(true);
    expect(events.at(-1)).toMatchObject({ name: "lease.lost", call, owner: "a", key: call });
    expect(namesOf(events)).toEqual(call === "renew" ? ["renew_failed", "lost"] : ["lost"]);
  }
});

test("one owner name, two leases of a key: the first is powerless", async () => {
  const { world, a } = leaseBench();
  const first = await heldLease(a);
  await world.advance(3_000);
  const second = await heldLease(a);
  await expect(first.renew()).rejects.toThrow(LeaseLost);
  expect(await second.owns()).toBe(true);
  await second.renew();
  await second.complete();
});

test("an end repeated is the same end; another one comes too late", async () => {
  const { events, a } = leaseBench();
  const lease = await heldLease(a);
  await Promise.all([lease.complete(), lease.complete()]);
  await lease.complete();
  await expect(lease.fail("no")).rejects.toThrow(LeaseMisused);
  await expect(lease.renew()).rejects.toThrow(LeaseMisused);
  expect(await lease.owns()).toBe(false);
  expect(namesOf(events)).toEqual(["acquired", "completed"]);
});

test("await using releases a held lease, accepts a busy one, and never throws", async () => {
  const { world, events, a, b } = leaseBench();
  {
    await using lease = await a.acquire("k", { for: "3s" });
    await using busy = await b.acquire("k", { for: "3s" });
    expect([lease.ok, busy.ok]).toEqual([true, false]);
  }
  expect(namesOf(events)).toEqual(["acquired", "busy", "released"]);
  {
    await using late = await heldLease(b);
    expect(late.attempt).toBe(1);
    await world.advance(3_000);
    await heldLease(a);
  }
  expect(events.at(-1)).toMatchObject({ name: "lease.lost", call: "release", owner: "b" });
});

test("get shows a lease without its token; reclaimExpired frees expired leases", async () => {
  const { world, a } = leaseBench();
  expect(await a.get("k")).toBeNull();
  const lease = await heldLease(a);
  const info = await a.get("k");
  expect(info).toMatchObject({
    key: "k",
    owner: "a",
    state: "claimed",
    attempt: 1,
    leaseUntil: world.wallNow() + 3_000,
  });
  expect(JSON.stringify(info)).not.toContain(lease.token);
  expect(await a.reclaimExpired()).toEqual([]);
  await world.advance(3_000);
  expect((await a.get("k"))?.state).toBe("expired");
  expect(await a.reclaimExpired({ limit: 1 })).toEqual(["k"]);
  await expect(lease.complete()).rejects.toThrow(LeaseLost);
  await expect(a.reclaimExpired({ limit: 0 })).rejects.toThrow(InvalidInput);
});

test("leases of two envs are separate", async () => {
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  const [test1, test2] = ["one", "two"].map((env) => createLeases({ store, owner: "a", env, world }));
  await heldLease(test1!);
  expect((await heldLease(test2!)).epoch).toBe(1);
  expect((await test1!.acquire("k", { for: "3s" })).ok).toBe(false);
  expect(() => createLeases({ store, owner: "a", env: "No Slug", world })).toThrow(InvalidInput);
});

test("bad names and times are refused before anything is written", async () => {
  const { a, claims } = leaseBench();
  expect(() => createLeases({ claims, owner: "" })).toThrow("owner");
  await expect(a.acquire("x".repeat(513), { for: "3s" })).rejects.toThrow(LimitExceeded);
  expect((await a.acquire("x".repeat(512), { for: "3s" })).ok).toBe(true);
  await expect(a.acquire("", { for: "3s" })).rejects.toThrow(InvalidInput);
  await expect(a.acquire("nul\0", { for: "3s" })).rejects.toThrow(InvalidInput);
  await expect(a.acquire(null as unknown as string, { for: "3s" })).rejects.toThrow(InvalidInput);
  await expect(a.acquire("k", { for: 9 })).rejects.toThrow("for: ");
  await expect(a.acquire("k", { for: "3s", renewEvery: "3s" })).rejects.toThrow("renewEvery: ");
  await expect(a.acquire("k", { for: "3s", renewEvery: 0 })).rejects.toThrow("renewEvery: ");
  expect(await a.get("k")).toBeNull();
  const lease = await heldLease(a);
  await expect(lease.fail(new RangeError("x") as unknown as string)).rejects.toThrow(InvalidInput);
  expect(await lease.owns()).toBe(true);
});

test("an adapter with only the five required calls works", async () => {
  const { world, claims } = leaseBench();
  const { acquire, renew, complete, fail, reclaimExpired } = claims;
  const five = createLeases({ claims: { acquire, renew, complete, fail, reclaimExpired }, owner: "a", world });
  const lease = await heldLease(five);
  expect(await lease.owns()).toBe(true);
  world.block(3_000);
  expect(await lease.owns()).toBe(false);
  await lease.renew();
  await lease.release();
  expect((await claims.get("k"))?.state).toBe("done");
  await expect(five.get("k")).rejects.toThrow(LeaseUnsupported);
});

test("work claims report every call", async () => {
  const bus = createBus<LeaseEvents>();
  const events = record(bus);
  const fake = new FakeClaims();
  const claims = new ReportedClaims(fake, bus, new VirtualWorld());
  const grant = await claims.acquire("k", "a", { leaseMs: 1_000 });
  expect((await claims.acquire("k", "b", { leaseMs: 1_000 })).ok).toBe(false);
  if (!grant.ok) return;
  expect(await claims.complete("k", "b", { ...grant, epoch: 99 })).toBe(false);
  expect(await claims.complete("k", "a", grant)).toBe(true);
  expect(await claims.renew("k", "a", { leaseMs: 1_000, grant })).toBe(false);
  expect(namesOf(events)).toEqual(["acquired", "busy", "lost", "completed", "renew_failed", "lost"]);
});

test("FakeClaims: a key can be made busy, and claims can be looked at", async () => {
  const fake = new FakeClaims();
  const leases = createLeases({ claims: fake, owner: "node-a" });
  expect((await leases.acquire("key:1", { for: "60s" })).ok).toBe(true);
  fake.setBusy("key:2", "node-b");
  expect(await leases.acquire("key:2", { for: "60s" })).toMatchObject({ ok: false, owner: "node-b" });
  fake.clearBusy("key:2");
  const second = await heldLease(leases, "key:2");
  await second.fail("why");
  expect(await fake.claims()).toMatchObject([
    { key: "key:1", owner: "node-a", state: "claimed", attempt: 1 },
    { key: "key:2", owner: "node-a", state: "failed", detail: "why" },
  ]);
  fake.advance(60_000);
  expect((await fake.claims())[0]?.state).toBe("expired");
  expect((await createLeases({ claims: fake, owner: "node-b" }).acquire("key:1", { for: 1_000 })).ok).toBe(true);
});
