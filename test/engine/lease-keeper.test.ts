// The lease keeper survives whatever breaks it, and a node that cannot renew starts nothing new.

import { describe, expect, test } from "vitest";
import { LeaseKeeper } from "../../src/engine/claiming/lease-keeper.js";
import type { Session } from "../../src/engine/session.js";
import { OwnPresence } from "../../src/engine/upkeep/own-presence.js";
import { resolveSettings } from "../../src/kernel/setting/settings.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { World } from "../../src/kernel/world.js";
import { createNode } from "../../src/node/create-node.js";
import type { RunStore } from "../../src/store/contract/run/runs.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { createBus } from "../../src/telemetry/bus.js";
import { workflow } from "../../src/workflow/workflow.js";
import { deferred } from "../harness/deferred.js";
import { QUICK } from "../workflow/node-suite.js";

/** A run in progress whose lease expires soon unless it is renewed. */
async function longWork(world: World, store: Store = memoryStore()) {
  const gate = deferred<string>();
  const begun = deferred<void>();
  const work = workflow("work", async (ctx) => {
    const first = await ctx.step("first", () => {
      begun.resolve();
      return gate.promise;
    });
    await ctx.step("second", () => second.push(first));
    return first;
  });
  const second: string[] = [];
  const node = await createNode(
    { store, programs: [work], timing: { ...QUICK.timing, lease: 600, renewEvery: 50 } },
    world,
  );
  const told: string[] = [];
  for (const name of ["lease.renew_failed", "lease.keeper_restarted", "claim.in_doubt", "claim.lost"] as const) {
    node.on(name, () => told.push(name));
  }
  const run = await node.start(work);
  await begun.promise;
  return { node, run, gate, told, second, store };
}

describe("a keeper that throws", () => {
  test("in a round reports it and runs the next round", async () => {
    let failures = 3;
    const world = {
      ...systemWorld(),
      faultPoint(name: string) {
        if (name === "lease-keeper.round" && failures-- > 0) throw new TypeError("killed");
      },
    };
    const { node, run, gate, told, store } = await longWork(world);
    await expect.poll(() => failures, { timeout: 5_000 }).toBeLessThan(0);
    const { leaseUntil } = (await store.runs.get(run.id))!;
    await expect.poll(async () => (await store.runs.get(run.id))!.leaseUntil!).toBeGreaterThan(leaseUntil!);
    gate.resolve("held");
    expect(await run.result({ timeout: "5s" })).toBe("held");
    expect(told).toEqual(["lease.renew_failed", "lease.renew_failed", "lease.renew_failed"]);
    expect((await store.runs.get(run.id))!.epoch).toBe(1);
    await node.stop();
  });

  test("outside a round reports it and is started again", async () => {
    const real = systemWorld();
    let kills = 0;
    let armed = false;
    const world: World = {
      ...real,
      // Only the keeper sleeps for exactly this time.
      after(ms, callback) {
        if (ms === 50 && armed && kills < 3) {
          kills++;
          throw new TypeError("no timers today");
        }
        return real.after(ms, callback);
      },
    };
    const { node, run, gate, told, store } = await longWork(world);
    armed = true;
    await expect.poll(() => kills, { timeout: 5_000 }).toBe(3);
    const { leaseUntil } = (await store.runs.get(run.id))!;
    await expect.poll(async () => (await store.runs.get(run.id))!.leaseUntil!).toBeGreaterThan(leaseUntil!);
    gate.resolve("held");
    expect(await run.result({ timeout: "5s" })).toBe("held");
    expect(told).toEqual(["lease.keeper_restarted", "lease.keeper_restarted", "lease.keeper_restarted"]);
    await node.stop();
  });
});

test("an event loop that is blocked for longer than a renewal interval is reported", async () => {
  const node = await createNode({ store: memoryStore(), programs: [], timing: { ...QUICK.timing, renewEvery: 100 } });
  const told: number[] = [];
  node.on("node.blocked", ({ lateMs }) => told.push(lateMs));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const until = performance.now() + 500;
  while (performance.now() < until);
  await expect.poll(() => told.length, { timeout: 5_000 }).toBeGreaterThan(0);
  expect(Math.max(...told)).toBeGreaterThan(200);
  await node.stop();
});

describe("a node that cannot renew for longer than its lease", () => {
  function withBrokenRenewals() {
    const store = memoryStore();
    const state = { broken: false };
    const renew: Store["runs"]["renew"] = async (...all) => {
      if (state.broken) throw new TypeError("no answer");
      return store.runs.renew(...all);
    };
    // No node reclaims: the run is taken over only where the test does it.
    const reclaim: Store["reclaim"] = async () => [];
    return { state, inner: store, store: { ...store, reclaim, runs: { ...store.runs, renew } } };
  }

  test("starts nothing new; the result of the running step is accepted, and it continues once it can renew", async () => {
    const { state, store } = withBrokenRenewals();
    const { node, run, gate, told, second } = await longWork(systemWorld(), store);
    state.broken = true;
    await expect.poll(() => told, { timeout: 5_000 }).toContain("claim.in_doubt");
    gate.resolve("late but mine");
    const kinds = async () => (await store.journal.read(run.id))!.entries.map(({ kind }) => kind);
    await expect.poll(kinds, { timeout: 5_000 }).toEqual(["start", "step"]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(second).toEqual([]);
    expect(told.filter((name) => name === "claim.in_doubt")).toHaveLength(1);
    state.broken = false;
    expect(await run.result({ timeout: "5s" })).toBe("late but mine");
    expect(second).toEqual(["late but mine"]);
    expect(told).not.toContain("claim.lost");
    expect((await store.runs.get(run.id))!.epoch).toBe(1);
    await node.stop();
  });

  test("writes nothing once another node has taken over, and reports the lost claim", async () => {
    const { state, store, inner } = withBrokenRenewals();
    const { node, run, gate, told, second } = await longWork(systemWorld(), store);
    state.broken = true;
    await expect.poll(() => told, { timeout: 5_000 }).toContain("claim.in_doubt");
    expect(await inner.runs.reclaimExpired({ env: "default", limit: 10 })).toMatchObject([
      { runId: run.id, previousOwner: node.incarnation, epoch: 1, renewedAgoMs: expect.any(Number) },
    ]);
    const groupIds = await inner.runs.groupIds([(await run.status()).group]);
    const [owner, token] = [crypto.randomUUID(), crypto.randomUUID()];
    await inner.runs.claim({ owner, token, groupIds, limit: 1, leaseMs: 60_000 });
    gate.resolve("too late");
    await expect.poll(() => told, { timeout: 5_000 }).toContain("claim.lost");
    expect(told.filter((name) => name === "claim.lost")).toHaveLength(1);
    expect((await store.journal.read(run.id))!.entries.map(({ kind }) => kind)).toEqual(["start"]);
    expect(second).toEqual([]);
    await node.stop();
  });
});

describe("a keeper renews", () => {
  /** `busy`: how often each run's row is locked when its renewal comes. */
  function keeperOf(busy: Readonly<Record<string, number>>, inDoubt = false) {
    const [world, { settings }] = [systemWorld(), resolveSettings({})];
    const left = new Map(Object.entries(busy));
    const renewals: string[][] = [];
    const store = {
      renew: async (claims: readonly { readonly runId: string }[]) => {
        renewals.push(claims.map(({ runId }) => runId));
        return claims.map(({ runId }) => {
          const more = left.get(runId)!;
          left.set(runId, more - 1);
          return more > 0 ? { outcome: "busy" } : { outcome: "held", inboxSeq: 0 };
        });
      },
    } as unknown as RunStore;
    const presence = new OwnPresence(world, settings);
    const keeper = new LeaseKeeper({ store, settings, world, bus: createBus(), presence });
    keeper.start();
    const sessions: { inDoubt: boolean }[] = [];
    for (const runId of Object.keys(busy)) {
      const renewed = () => {
        session.inDoubt = false;
      };
      const session = { inDoubt, run: { runId, epoch: 1 }, renewed, heard() {} };
      sessions.push(session);
      keeper.add(session as unknown as Session);
    }
    return { keeper, renewals, sessions };
  }

  test("a claim that is in doubt when it is granted at once, not with the next renewal", async () => {
    const { keeper, renewals } = keeperOf({ r: 0 }, true);
    await expect.poll(() => renewals, { timeout: 1_000 }).toEqual([["r"]]);
    await keeper.stop();
  });

  test("a claim whose row was locked again at once, and only that, until it is renewed", async () => {
    const { keeper, renewals } = keeperOf({ free: 0, locked: 4, other: 1 });
    keeper.wake();
    const repeats = [["locked", "other"], ["locked"], ["locked"], ["locked"]];
    // Less than the 5 s between two renewals: several of them would meet a lock, and the lease would expire.
    await expect.poll(() => renewals, { timeout: 2_000 }).toEqual([["free", "locked", "other"], ...repeats]);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(renewals).toHaveLength(5);
    await keeper.stop();
  });

  test("a claim that comes into doubt together with those whose rows are locked", async () => {
    const { keeper, renewals, sessions } = keeperOf({ free: 0, locked: Number.POSITIVE_INFINITY });
    keeper.wake();
    await expect.poll(() => renewals.length, { timeout: 2_000 }).toBeGreaterThan(1);
    sessions[0]!.inDoubt = true;
    await expect.poll(() => renewals.slice(1), { timeout: 2_000 }).toContainEqual(["free", "locked"]);
    await keeper.stop();
  });
});
