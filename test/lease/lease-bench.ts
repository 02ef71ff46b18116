// What the lease tests share: a virtual world, a store in it, and every event that was emitted.

import type { LeaseEvents } from "../../src/lease/lease-events.js";
import { createLeases } from "../../src/lease/leases.js";
import { storeClaims } from "../../src/lease/store-claims.js";
import type { WorkClaims } from "../../src/lease/work-claims.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { type Bus, createBus } from "../../src/telemetry/bus.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

export type AnyEvent = { readonly name: keyof LeaseEvents } & Record<string, unknown>;

const NAMES: readonly (keyof LeaseEvents)[] = [
  "lease.acquired",
  "lease.steal",
  "lease.busy",
  "lease.renewed",
  "lease.renew_failed",
  "lease.completed",
  "lease.failed",
  "lease.released",
  "lease.lost",
  "lease.end_failed",
  "lease.renewer_restarted",
];

/** Everything emitted on the bus from now on. */
export function record(bus: Bus<LeaseEvents>): AnyEvent[] {
  const events: AnyEvent[] = [];
  for (const name of NAMES) bus.on(name, (event) => events.push({ name, ...event }));
  return events;
}

export function namesOf(events: readonly AnyEvent[]): string[] {
  return events.map(({ name }) => name.replace("lease.", ""));
}

/** Two owners on one memory store, in one world. `broken` replaces calls of the first owner's claims. */
export function leaseBench(broken: (claims: WorkClaims) => Partial<WorkClaims> = () => ({})) {
  const world = new VirtualWorld();
  const bus = createBus<LeaseEvents>({ world });
  const events = record(bus);
  const claims = storeClaims(memoryStore({ world }).leases, { world });
  return {
    world,
    bus,
    events,
    claims,
    a: createLeases({ claims: { ...claims, ...broken(claims) }, owner: "a", world, bus }),
    b: createLeases({ claims, owner: "b", world, bus }),
  };
}

export type Leases = ReturnType<typeof createLeases>;

export async function heldLease(leases: Leases, key = "k", options: Parameters<Leases["acquire"]>[1] = { for: "3s" }) {
  const lease = await leases.acquire(key, options);
  if (!lease.ok) throw new TypeError(`${key} is busy, held by ${lease.owner}`);
  return lease;
}

/** A promise that the test settles. */
export function latch<T = void>() {
  let open: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const passed = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { passed, open, fail };
}
