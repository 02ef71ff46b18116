// Housekeeping: heartbeat, sweep of expired claims, wake-up of parked runs, once per interval and node.

import type { Settings } from "../kernel/setting-options.js";
import { sleep, type World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { EngineEvents } from "./events.js";

const PAGE = 500;

export interface HousekeepingOptions {
  readonly store: Store;
  readonly settings: Settings;
  readonly world: World;
  readonly bus: Telemetry<EngineEvents>;
  readonly incarnation: string;
  /** Called when runs became claimable. */
  readonly onWork: () => void;
}

/** Runs until the signal aborts. A round that fails is told and the next one comes. */
export async function keepHouse(options: HousekeepingOptions, signal: AbortSignal): Promise<void> {
  const { world, settings, bus } = options;
  // A sweeper that has just started takes nothing from anybody: after an outage everybody's lease is over.
  let graceUntil = world.monotonicNow() + settings.startupGraceMs;
  while (!signal.aborted) {
    try {
      await round(options, world.monotonicNow() >= graceUntil);
    } catch (error) {
      bus.emit("housekeeping.failed", { error });
      graceUntil = world.monotonicNow() + settings.startupGraceMs;
    }
    // Jitter, so that nodes that started together do not sweep together.
    const pauseMs = settings.housekeepingMs * (0.8 + world.random() * 0.4);
    await sleep(world, pauseMs, signal).catch(() => {});
  }
}

async function round({ store, bus, incarnation, onWork }: HousekeepingOptions, mayReclaim: boolean): Promise<void> {
  await store.nodes.heartbeat(incarnation);
  let found = await store.runs.wakeParked({ limit: PAGE });
  if (mayReclaim) {
    for (const reclaimed of await store.runs.sweepExpired({ limit: PAGE })) {
      found++;
      bus.emit("run.reclaimed", reclaimed);
    }
  }
  if (found > 0) onWork();
}
