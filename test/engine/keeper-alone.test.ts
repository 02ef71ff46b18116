// A node that is alone renews for good: a claim whose work has ended must get an end again.

import { expect, test } from "vitest";
import { LeaseKeeper } from "../../src/engine/claiming/lease-keeper.js";
import type { Session } from "../../src/engine/session.js";
import { OwnPresence } from "../../src/engine/upkeep/own-presence.js";
import { resolveSettings } from "../../src/kernel/setting/settings.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { RenewAnswer, RunStore } from "../../src/store/contract/run/runs.js";
import { createBus } from "../../src/telemetry/bus.js";
import { deferred } from "../harness/deferred.js";

function scene(answer: (leaseMs: number, call: number) => Promise<RenewAnswer>) {
  const [world, { settings }] = [systemWorld(), resolveSettings({ timing: { lease: 300, renewEvery: 50 } })];
  const leases: number[] = [];
  let left = 0;
  const store = {
    renew: async (claims: readonly unknown[], leaseMs: number) => {
      leases.push(leaseMs);
      const one = await answer(leaseMs, leases.length);
      if (one.outcome === "held") left = leaseMs;
      return claims.map(() => one);
    },
  } as unknown as RunStore;
  const presence = new OwnPresence(world, settings);
  const keeper = new LeaseKeeper({ store, settings, world, bus: createBus(), presence, alone: true });
  const session = {
    inDoubt: false,
    run: { runId: "r", epoch: 1 },
    renewed() {},
    heard() {},
    lose() {},
  } as unknown as Session;
  keeper.start();
  keeper.add(session);
  return { keeper, session, leases, left: () => left };
}
const held: RenewAnswer = { outcome: "held", inboxSeq: 0 };

test("a dropped claim gets an end, although its row was locked at first", async () => {
  const { keeper, session, left } = scene(async (leaseMs, call) =>
    leaseMs < 1e6 && call === 2 ? { outcome: "busy" } : held,
  );
  await expect.poll(left, { timeout: 2_000 }).toBeGreaterThan(1e9);
  keeper.drop(session);
  await expect.poll(left, { timeout: 2_000 }).toBe(300);
  await keeper.stop();
});

test("a claim that is dropped while it is renewed gets an end", async () => {
  const gate = deferred<void>();
  const { keeper, session, leases, left } = scene(async (leaseMs) => {
    if (leaseMs > 1e6) await gate.promise;
    return held;
  });
  await expect.poll(() => leases.length, { timeout: 2_000 }).toBe(1);
  keeper.drop(session);
  gate.resolve();
  await expect.poll(left, { timeout: 2_000 }).toBe(300);
  await keeper.stop();
});
