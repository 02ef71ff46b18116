// Keeps connections of a pool that were used a moment ago, to use them without the pool: its ticks and timers take 0.1 ms of
// each statement on an idle machine.

import type pg from "pg";
import type { World } from "../../../kernel/world.js";

/** After this time without use, a connection is released to the pool, which ends idle ones. */
const KEPT_MS = 1000;

interface Spare {
  readonly client: pg.PoolClient;
  readonly since: number;
  readonly onBroken: () => void;
}

export class SpareConnections {
  readonly #pool: pg.Pool;
  readonly #world: World;
  /** The last used is the first to be used again. */
  #spares: Spare[] = [];
  #cancelSweep: (() => void) | null = null;
  #closed = false;

  readonly #isOld: (client: pg.PoolClient) => boolean;

  /** `isOld`: one that must not be used any more. */
  constructor(pool: pg.Pool, world: World, isOld: (client: pg.PoolClient) => boolean = () => false) {
    this.#isOld = isOld;
    this.#pool = pool;
    this.#world = world;
  }

  take(): pg.PoolClient | null {
    for (let spare = this.#spares.pop(); spare; spare = this.#spares.pop()) {
      spare.client.removeListener("error", spare.onBroken);
      if (!this.#isOld(spare.client)) return spare.client;
      spare.client.release(true);
    }
    return null;
  }

  /** Closes all there are. */
  dropAll(): void {
    for (const { client, onBroken } of this.#spares.splice(0)) {
      client.removeListener("error", onBroken);
      client.release(true);
    }
  }

  /** Keeps it instead of releasing it to the pool; it is released when a caller waits for one. */
  keep(client: pg.PoolClient): void {
    if (this.#closed || this.#pool.waitingCount > 0) {
      client.release();
      return;
    }
    const onBroken = () => {
      this.#spares = this.#spares.filter((spare) => spare.client !== client);
      client.release(true);
    };
    client.once("error", onBroken);
    this.#spares.push({ client, since: this.#world.monotonicNow(), onBroken });
    this.#cancelSweep ??= this.#world.after(KEPT_MS, () => this.#sweep());
  }

  /** Releases all of them. */
  close(): void {
    this.#closed = true;
    this.#cancelSweep?.();
    this.#giveBack(Number.POSITIVE_INFINITY);
  }

  #sweep(): void {
    this.#cancelSweep = null;
    this.#giveBack(this.#world.monotonicNow() - KEPT_MS);
    if (this.#spares.length > 0) this.#cancelSweep = this.#world.after(KEPT_MS, () => this.#sweep());
  }

  #giveBack(before: number): void {
    const old = this.#spares.filter(({ since }) => since <= before);
    this.#spares = this.#spares.filter(({ since }) => since > before);
    for (const { client, onBroken } of old) {
      client.removeListener("error", onBroken);
      client.release();
    }
  }
}
