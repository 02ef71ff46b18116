// The database's clock as this process knows it: measured once a minute, and only when a request needs it.

import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";

const MEASURE_EVERY_MS = 60_000;

export interface Clock {
  /** Milliseconds since 1970 by the database's clock. */
  now(): Promise<number>;
}

export function databaseClock(store: Store, world: World): Clock {
  let offset = 0;
  let measuredAt = Number.NEGATIVE_INFINITY;
  let measuring: Promise<void> | null = null;
  const measure = async () => {
    const before = world.wallNow();
    const { now } = await store.views.runs([]);
    offset = now - (before + world.wallNow()) / 2;
    measuredAt = world.monotonicNow();
  };
  return {
    async now() {
      if (world.monotonicNow() - measuredAt > MEASURE_EVERY_MS) {
        measuring ??= measure().finally(() => {
          measuring = null;
        });
        await measuring;
      }
      return Math.round(world.wallNow() + offset);
    },
  };
}
