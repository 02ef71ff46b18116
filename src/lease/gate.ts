// A gate around work: one process at a time for each key. Without an adapter, or for work without a key, it is open.

import type { Duration } from "../kernel/duration.js";
import type { World } from "../kernel/world.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { HoldScope } from "./held-lease.js";
import type { LeaseEvents } from "./lease-events.js";
import { createLeases } from "./leases.js";
import type { WorkClaims } from "./work-claims.js";

/** Options of `createGate`. */
export interface GateOptions {
  /** Who asks: best the identity of this node. */
  readonly owner: string;
  /** Omitted or null: the gate is open, and nothing is asked. */
  readonly claims?: WorkClaims | null;
  /** How long a key is held without a renewal; renewed at a third of it. @default 120 s */
  readonly lease?: Duration;
  /** Where events of its leases are emitted. @default nowhere */
  readonly bus?: Telemetry<LeaseEvents>;
  /** Clock, timers and chance; for tests. */
  readonly world?: World;
}

/** `fence` is null when the gate is open. */
export interface GateScope extends Pick<HoldScope, "signal" | "inDoubt"> {
  /** Pass it to outside systems; null when the gate is open. */
  readonly fence: HoldScope["fence"] | null;
}

/** Whether the work ran, with its value or with the owner that has the key. */
export type Passed<T> =
  | { readonly passed: true; readonly value: T }
  /** Another owner has the key; the work did not begin. Null: the adapter does not know. */
  | { readonly passed: false; readonly owner: string | null; readonly leftMs: number | null };

/**
 * Acquires the key, works, and completes it; work that throws fails it. Throws LeaseLost when another owner took the key meanwhile, and
 * what the adapter throws when it does not answer.
 */
export type Gate = <T>(key: string | null, work: (scope: GateScope) => T | Promise<T>) => Promise<Passed<T>>;

const DEFAULT_LEASE = "120s";

/** Creates a gate around work: one process at a time for each key, by leases that an adapter of yours keeps. */
export function createGate({ owner, claims, lease = DEFAULT_LEASE, bus, world }: GateOptions): Gate {
  const leases = claims ? createLeases({ claims, owner, ...(bus && { bus }), ...(world && { world }) }) : null;
  return async (key, work) => {
    if (leases === null || key === null) return { passed: true, value: await work(openScope()) };
    const held = await leases.acquire(key, { for: lease });
    if (!held.ok) return { passed: false, owner: held.owner, leftMs: held.leftMs };
    return { passed: true, value: await held.hold(async (scope) => work(scope)) };
  };
}

function openScope(): GateScope {
  return { fence: null, signal: new AbortController().signal, inDoubt: () => false };
}
