// Named leases for a user's own work: a nightly export, a leadership, anything one process at a time should do.

import { type Duration, formatDuration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { leaseKey, nodeName } from "../kernel/name.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import type { Telemetry } from "../telemetry/bus.js";
import { LeaseUnsupported } from "./error.js";
import { HeldLease } from "./held-lease.js";
import type { LeaseEvents } from "./lease-events.js";
import { ReportedClaims } from "./reported-claims.js";
import { storeClaims } from "./store-claims.js";
import type { LeaseInfo, Refused, WorkClaims } from "./work-claims.js";

/** Options of `createLeases`, wherever the leases are kept. */
interface CommonOptions {
  /** Who acquires: best the identity of this node. Shown in events and to callers that find the key busy. */
  readonly owner: string;
  /** Clock, timers and chance; for tests. */
  readonly world?: World;
  /** Where events of its leases are emitted. @default nowhere */
  readonly bus?: Telemetry<LeaseEvents>;
}

/** Stored in a Holdfast store, or by an adapter of your own. */
export type LeasesOptions =
  | (CommonOptions & { readonly store: Pick<Store, "leases">; readonly env?: string; readonly claims?: never })
  | (CommonOptions & { readonly claims: WorkClaims; readonly store?: never; readonly env?: never });

/** Options of `acquire`. */
export interface AcquireOptions {
  /** How long it is held without a renewal. */
  readonly for: Duration;
  /** How often `hold` renews; less than `for`. @default a third of it */
  readonly renewEvery?: Duration;
}

/** Another owner holds it. Disposable like the lease, so that `await using` takes either. */
export interface BusyLease extends AsyncDisposable {
  /** Distinguishes it from a `HeldLease`. */
  readonly ok: false;
  /** Always `busy`. */
  readonly reason: "busy";
  /** Null when the adapter does not know. */
  readonly owner: string | null;
  /** The remaining time of the holder's lease; null when the adapter does not know. */
  readonly leftMs: number | null;
}

/** Acquires and looks at named leases. */
export interface Leases {
  /** Acquires the lease of this key, or returns who holds it. It never waits. */
  acquire(key: string, options: AcquireOptions): Promise<HeldLease | BusyLease>;
  /** Null when it was never acquired. */
  get(key: string): Promise<LeaseInfo | null>;
  /** Frees expired leases, oldest first, and returns their keys. Acquiring does not need it. @default 100 */
  reclaimExpired(options?: { readonly limit?: number }): Promise<readonly string[]>;
}

/** Below this, a round trip takes longer than the lease. */
const SHORTEST_LEASE_MS = 10;

/**
 * Creates named leases over a store or an adapter of your own: for work that one process at a time should do.
 *
 * @example
 * ```ts
 * const leases = createLeases({ store, owner: "node-1" });
 * const lease = await leases.acquire("nightly-export", { for: "60s" });
 * if (lease.ok) {
 *   await lease.hold(async ({ signal, fence }) => {
 *     // `signal` aborts when the lease is lost; `fence.epoch` only ever rises: pass it to outside systems.
 *     console.log(`exporting under epoch ${fence.epoch}, aborted: ${signal.aborted}`);
 *   });
 * } else {
 *   console.log(`${lease.owner} holds it for another ${lease.leftMs} ms`);
 * }
 * ```
 */
export function createLeases(options: LeasesOptions): Leases {
  const { bus, world = systemWorld() } = options;
  const owner = nodeName(options.owner, "owner");
  const claims = options.claims ?? storeClaims(options.store.leases, { env: options.env ?? "default", world });
  const reported = new ReportedClaims(claims, bus, world);
  return {
    async acquire(key, { for: lease, renewEvery }) {
      const leaseMs = readLease(lease);
      const renewEveryMs = readRenewEvery(renewEvery, leaseMs, "renewEvery");
      const askedAt = world.monotonicNow();
      const granted = await reported.acquire(leaseKey(key, "key"), owner, { leaseMs });
      if (!granted.ok) return busyLease(granted);
      return new HeldLease({ key, owner, granted, askedAt, leaseMs, renewEveryMs, reported, claims, world, bus });
    },
    async get(key) {
      if (!claims.get) throw new LeaseUnsupported("get");
      return claims.get(leaseKey(key, "key"));
    },
    reclaimExpired: ({ limit = 100 } = {}) => reported.reclaimExpired(limit),
  };
}

function busyLease({ owner, leftMs }: Refused): BusyLease {
  const holder = { owner: owner ?? null, leftMs: leftMs ?? null };
  return { ok: false, reason: "busy", ...holder, [Symbol.asyncDispose]: async () => {} };
}

function readLease(lease: Duration): number {
  const leaseMs = toMs(lease, "for");
  if (leaseMs >= SHORTEST_LEASE_MS) return leaseMs;
  throw new InvalidInput("for", `a lease must last ${SHORTEST_LEASE_MS} ms or more; it is ${leaseMs} ms`);
}

/** Less than the lease; a third of it if omitted. */
export function readRenewEvery(renewEvery: Duration | undefined, leaseMs: number, path: string): number {
  if (renewEvery === undefined) return Math.floor(leaseMs / 3);
  const renewEveryMs = toMs(renewEvery, path);
  if (renewEveryMs >= 1 && renewEveryMs < leaseMs) return renewEveryMs;
  const rule = `must be from 1 ms to less than the lease (${formatDuration(leaseMs)}), a third of it for example`;
  throw new InvalidInput(path, `${rule}; it is ${formatDuration(renewEveryMs)}`);
}
