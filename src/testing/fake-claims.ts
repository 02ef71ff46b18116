// Work claims in memory, for unit tests: models ownership and expiry; a key can be made busy, time can be advanced.

import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import { storeClaims } from "../lease/store-claims.js";
import type { ClaimAnswer, Grant, LeaseInfo, WorkClaims } from "../lease/work-claims.js";
import { memoryStore } from "../store/memory/memory-store.js";

/** Options of `FakeClaims`. */
export interface FakeClaimsOptions {
  /** Its wall clock decides what has expired. `advance` moves ahead of it. @default the real one */
  readonly world?: World;
}

/** Work claims in memory, for tests: keys can be made busy, and time can be advanced. */
export class FakeClaims implements Required<WorkClaims> {
  readonly #claims: Required<WorkClaims>;
  readonly #keys = new Set<string>();
  readonly #busy = new Map<string, string>();
  #aheadMs = 0;

  constructor({ world = systemWorld() }: FakeClaimsOptions = {}) {
    // The memory store takes nothing but the clock from its world.
    const ahead: World = { ...systemWorld(), wallNow: () => world.wallNow() + this.#aheadMs };
    this.#claims = storeClaims(memoryStore({ world: ahead }).leases, { world });
  }

  /** Until `clearBusy`, this key cannot be acquired. A current holder keeps it. */
  setBusy(key: string, owner = "somebody"): void {
    this.#busy.set(key, owner);
  }

  /** The key is free again. */
  clearBusy(key: string): void {
    this.#busy.delete(key);
  }

  /** Every key that was granted, in the order of their first grants. */
  async claims(): Promise<readonly LeaseInfo[]> {
    const found = await Promise.all([...this.#keys].map((key) => this.#claims.get(key)));
    return found.filter((info) => info !== null);
  }

  /** Moves its clock forward by milliseconds; leases expire by it. */
  advance(ms: number): void {
    this.#aheadMs += ms;
  }

  async acquire(key: string, owner: string, options: { readonly leaseMs: number }): Promise<ClaimAnswer> {
    const heldBy = this.#busy.get(key);
    if (heldBy !== undefined) return { ok: false, owner: heldBy };
    const answer = await this.#claims.acquire(key, owner, options);
    if (answer.ok) this.#keys.add(key);
    return answer;
  }

  renew(key: string, owner: string, leaseMs: number, grant: Grant): Promise<boolean> {
    return this.#claims.renew(key, owner, leaseMs, grant);
  }

  complete(key: string, owner: string, grant: Grant): Promise<boolean> {
    return this.#claims.complete(key, owner, grant);
  }

  fail(key: string, owner: string, detail: string, grant: Grant): Promise<boolean> {
    return this.#claims.fail(key, owner, detail, grant);
  }

  release(key: string, owner: string, grant: Grant): Promise<boolean> {
    return this.#claims.release(key, owner, grant);
  }

  owns(key: string, owner: string, grant: Grant): Promise<boolean> {
    return this.#claims.owns(key, owner, grant);
  }

  get(key: string): Promise<LeaseInfo | null> {
    return this.#claims.get(key);
  }

  reclaimExpired(limit: number): Promise<readonly string[]> {
    return this.#claims.reclaimExpired(limit);
  }
}
