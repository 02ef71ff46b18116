// With one active reclaimer, the node that holds this lease reclaims; when it dies, another gets the lease.

import type { LeaseFence } from "../../store/contract/lease/leases.js";
import type { NodeParts } from "../node-parts.js";

const KEY = "holdfast.reclaimer";
/** How many rounds of housekeeping the lease lasts without a renewal. */
const LEASE_ROUNDS = 3;

export class ReclaimerLease {
  readonly #node: Pick<NodeParts, "store" | "settings" | "world" | "bus" | "env" | "incarnation">;
  #fence: LeaseFence | null = null;

  constructor(node: Pick<NodeParts, "store" | "settings" | "world" | "bus" | "env" | "incarnation">) {
    this.#node = node;
  }

  /** Whether this node is the reclaimer for this round. */
  async hold(): Promise<boolean> {
    const { store, settings, world, env, incarnation: owner } = this.#node;
    const { leases } = store;
    const leaseMs = LEASE_ROUNDS * settings.housekeepingMs;
    if (this.#fence && (await leases.renew(this.#fence, leaseMs))) return true;
    this.#become(null);
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
    if (fence) await this.#node.store.leases.release(fence);
  }

  #become(fence: LeaseFence | null): void {
    const changed = (this.#fence === null) !== (fence === null);
    this.#fence = fence;
    if (changed) this.#node.bus.emit("reclaimer.changed", { active: fence !== null });
  }
}
