// Leases on a real PostgreSQL: processes that contend, die, hang and return.

import { afterAll, beforeAll, expect, test } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";
import { sleep } from "../../src/kernel/world.js";
import { LeaseLost } from "../../src/lease/error.js";
import type { LeaseEvents } from "../../src/lease/lease-events.js";
import { createLeases } from "../../src/lease/leases.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { type Bus, createBus } from "../../src/telemetry/bus.js";
import { testSchema } from "../harness/database.js";
import { heldLease, type Leases, latch, namesOf, record } from "./lease-bench.js";

const { url, schema, pool } = testSchema();
const world = systemWorld();
const stores = ["a", "b"].map(() => openPostgres(url, { schema, retryFor: "1s" }));
const [storeA, storeB] = stores as [(typeof stores)[0], (typeof stores)[0]];

beforeAll(() => storeA.migrate());
afterAll(() => Promise.all(stores.map((store) => store.close())));

function node(store: (typeof stores)[0], owner: string) {
  const bus = createBus<LeaseEvents>();
  return { bus, events: record(bus), leases: createLeases({ store, owner, bus }) };
}

/** Tries again at the time at which the lease should be free. */
async function acquireSoon(leases: Leases, key: string) {
  for (;;) {
    const lease = await leases.acquire(key, { for: "3s" });
    if (lease.ok) return lease;
    await sleep(world, lease.leftMs ?? 1);
  }
}

function next<Name extends keyof LeaseEvents>(bus: Bus<LeaseEvents>, name: Name, count = 1): Promise<void> {
  return new Promise((resolve) => {
    const off = bus.on(name, () => {
      if (--count > 0) return;
      off();
      resolve();
    });
  });
}

test("of many callers in two processes one holds the lease, and after its end the next", async () => {
  const nodes = [storeA, storeB].flatMap((store, i) => [1, 2, 3, 4].map((n) => node(store, `n${i}-${n}`)));
  for (let round = 1; round <= 3; round++) {
    const answers = await Promise.all(nodes.map(({ leases }) => leases.acquire("contended", { for: "20s" })));
    const winners = answers.filter((answer) => answer.ok);
    expect(winners).toHaveLength(1);
    expect(winners[0]).toMatchObject({ epoch: round, attempt: 1 });
    for (const answer of answers) if (!answer.ok) expect(answer.owner).toBe(winners[0]!.owner);
    await winners[0]!.complete();
  }
  expect(nodes.flatMap(({ events }) => namesOf(events)).filter((name) => name === "steal")).toEqual([]);
});

test("a process that stops renewing loses the lease to another, and its late end is refused", async () => {
  const a = node(storeA, "a");
  const b = node(storeB, "b");
  const dead = await heldLease(a.leases, "dies", { for: "300ms" });
  const taken = await acquireSoon(b.leases, "dies");
  expect(taken).toMatchObject({ attempt: 2, epoch: 2 });
  expect(await dead.owns()).toBe(false);
  await expect(dead.complete()).rejects.toThrow(LeaseLost);
  await expect(dead.fail("late")).rejects.toThrow(LeaseLost);
  expect(namesOf(a.events)).toEqual(["acquired", "lost"]);
  expect(await b.leases.get("dies")).toMatchObject({ state: "claimed", owner: "b" });
  await taken.complete();
  await expect(dead.renew()).rejects.toThrow(LeaseLost);
});

test("a steal is reported as one", async () => {
  const b = node(storeB, "b");
  await heldLease(node(storeA, "a").leases, "steal", { for: "100ms" });
  await acquireSoon(b.leases, "steal");
  expect(b.events.at(-1)).toMatchObject({ name: "lease.steal", stolenFrom: "a" });
});

test("a lease held for longer than its duration stays with its owner, and is completed after the work", async () => {
  const a = node(storeA, "a");
  const b = node(storeB, "b");
  const lease = await heldLease(a.leases, "held", { for: "1500ms", renewEvery: "200ms" });
  await lease.hold(async () => {
    await next(a.bus, "lease.renewed", 9);
    expect(await b.leases.acquire("held", { for: "1s" })).toMatchObject({ ok: false, owner: "a" });
  });
  expect(await b.leases.get("held")).toMatchObject({ state: "done", owner: "a" });
});

test("a process that hung through a steal is aborted by its next renewal", async () => {
  const a = node(storeA, "a");
  const lease = await heldLease(a.leases, "hangs", { for: "400ms", renewEvery: "300ms" });
  const lost = next(a.bus, "lease.lost");
  const outcome = lease
    .hold(async (s) => {
      // What an administrator, a failover or a pause of this process would do.
      await pool.query(`update ${schema}.leases set lease_until = clock_timestamp() where key = 'hangs'`);
      await acquireSoon(node(storeB, "b").leases, "hangs");
      await sleep(world, 20_000, s.signal);
    })
    .catch((error) => error);
  await lost;
  expect(await outcome).toBeInstanceOf(LeaseLost);
  expect(namesOf(a.events)).toEqual(["acquired", "renew_failed", "lost"]);
});

test("a process that blocked for longer than the lease renews first, and continues if the lease was not taken", async () => {
  const a = node(storeA, "a");
  const lease = await heldLease(a.leases, "blocks", { for: "200ms" });
  await lease.hold(async (s) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    expect(s.inDoubt()).toBe(true);
    await next(a.bus, "lease.renewed");
    expect(s.inDoubt()).toBe(false);
  });
  expect(namesOf(a.events).at(-1)).toBe("completed");
});

test("connections that break during a renewal are an error, not a loss", async () => {
  const a = node(storeA, "a");
  const lease = await heldLease(a.leases, "broken", { for: "20s", renewEvery: "50ms" });
  const finish = latch();
  const done = lease.hold(() => finish.passed);
  await next(a.bus, "lease.renewed");
  // A renewal waits for the row's lock, and its connection is cut there.
  const client = await pool.connect();
  await client.query("begin");
  await client.query(`select 1 from ${schema}.leases where key = 'broken' for update`);
  const failed = next(a.bus, "lease.renew_failed");
  let cut = 0;
  while (cut === 0) {
    const { rows } = await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'holdfast' and wait_event_type = 'Lock' and query like $1`,
      [`%${schema}%leases%`],
    );
    cut = rows.length;
  }
  await failed;
  await client.query("rollback");
  client.release();
  await next(a.bus, "lease.renewed");
  finish.open();
  await done;
  expect(a.events.find(({ name }) => name === "lease.renew_failed")).toMatchObject({ reason: "error" });
  expect(namesOf(a.events)).not.toContain("lost");
  expect(lease.signal.aborted).toBe(false);
});

test("an error of the work is stored with the lease, whatever it is", async () => {
  const a = node(storeA, "a");
  const lease = await heldLease(a.leases, "throws");
  await expect(lease.hold(() => Promise.reject(new RangeError("nul \0 half \udc00")))).rejects.toThrow(RangeError);
  expect(await a.leases.get("throws")).toMatchObject({ state: "failed", detail: "RangeError: nul \ufffd half \ufffd" });
  expect((await heldLease(a.leases, "throws")).attempt).toBe(2);
});

test("expired leases are reclaimed, and no others", async () => {
  const a = node(storeA, "a");
  const over = await heldLease(a.leases, "over", { for: "50ms" });
  await heldLease(a.leases, "live", { for: "20s" });
  while (await over.owns()) await world.turn();
  const freed = await a.leases.reclaimExpired();
  expect(freed).toContain("over");
  expect(freed).not.toContain("live");
  await expect(over.complete()).rejects.toThrow(LeaseLost);
});
