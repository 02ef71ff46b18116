// With one active reclaimer, the node that holds this lease reclaims; when it dies, another gets the lease.

import type { World } from "../../kernel/world.js";
import type { LeaseFence, LeaseStore } from "../../store/contract/lease/leases.js";
import type { Telemetry } from "../../telemetry/bus.js";
import type { EngineEvents } from "../events.js";

const KEY = "holdfast.reclaimer";

export interface SweeperLeaseOptions {
  readonly leases: LeaseStore;
  readonly world: World;
  readonly bus: Telemetry<EngineEvents>;
  readonly env: string;
  readonly owner: string;
  readonly leaseMs: number;
}

export class ReclaimerLease {
  readonly #options: SweeperLeaseOptions;
  #fence: LeaseFence | null = null;

  constructor(options: SweeperLeaseOptions) {
    this.#options = options;
  }

  /** Whether this node is the reclaimer for this round. */
  async hold(): Promise<boolean> {
    const { leases, leaseMs } = this.#options;
    if (this.#fence && (await leases.renew(this.#fence, leaseMs))) return true;
    this.#become(null);
    const { world, env, owner } = this.#options;
    const answer = await leases.acquire({ env, key: KEY, owner, token: world.token(), leaseMs });
    if (answer.outcome === "busy") return false;
    const { epoch, token } = answer.lease;
    this.#become({ env, key: KEY, epoch, token });
    return true;
  }

  /** The next node need not wait until the lease has expired. */
  async release(): Promise<void> {
    const fence = this.#fence;
    this.#become(null);
    if (fence) await this.#options.leases.release(fence);
  }

  #become(fence: LeaseFence | null): void {
    const changed = (this.#fence === null) !== (fence === null);
    this.#fence = fence;
    if (changed) this.#options.bus.emit("reclaimer.changed", { active: fence !== null });
  }
}

interface Sweeping extends Pick<SweeperLeaseOptions, "world" | "bus" | "env"> {
  readonly store: { readonly leases: LeaseStore };
  readonly settings: { readonly housekeepingMs: number };
  readonly incarnation: string;
  readonly reclaimer: "every" | "one" | "off";
}

/** Null: this node needs no lease to reclaim, or never does. */
export function reclaimerLease({ store, settings, incarnation, reclaimer, ...rest }: Sweeping): ReclaimerLease | null {
  if (reclaimer !== "one") return null;
  const { world, bus, env } = rest;
  const leaseMs = 3 * settings.housekeepingMs;
  return new ReclaimerLease({ leases: store.leases, world, bus, env, owner: incarnation, leaseMs });
}
