// Housekeeping: heartbeat, sweep of expired claims, wake-up of parked runs, admission of held ones, once per interval and node.

import type { ModeState } from "../kernel/node-mode.js";
import type { Settings } from "../kernel/setting-options.js";
import { sleep, type World } from "../kernel/world.js";
import type { HouseReport } from "../store/contract/house.js";
import type { Store } from "../store/contract/store.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { EngineEvents } from "./events.js";
import type { Modes } from "./modes.js";
import { sweepCounts } from "./sweep-counts.js";
import type { SweeperLease } from "./sweeper-lease.js";

const PAGE = 500;
/** Keys of limits looked at in one round. */
const LINES = 200;
/** Deadlines that fall together are served together. */
const SHORTEST_PAUSE_MS = 10;

export interface HousekeepingOptions {
  readonly store: Store;
  readonly settings: Settings;
  readonly world: World;
  readonly bus: Telemetry<EngineEvents>;
  readonly incarnation: string;
  /** Null: every node reclaims. */
  readonly sweeper: SweeperLease | null;
  /** The only node of its env and stack: it hears of messages here, because it renews hardly ever. */
  readonly alone: boolean;
  readonly env: string;
  /** The store does not know this node any more. */
  readonly onForgotten: () => Promise<void>;
  /** Runs of ours that have unread messages: told to a node that is alone. */
  readonly onCalled: (called: HouseReport["called"]) => void;
  readonly modes: Modes;
  /** False: somebody else takes back the runs of dead nodes. */
  readonly reclaims: boolean;
  /** After each round; `mode` is null while the store knows no other than this node does. */
  readonly onRound: (mode: ModeState | null) => Promise<void>;
  /** Knocked at when somebody's own transaction left something to be found. */
  readonly door: Door;
  /** Called when runs became claimable. */
  readonly onWork: () => void;
}

/** Many knock at once, on every node: answered after a while that differs from node to node, and not more often. */
const KNOCK_MS = 50;

/** Lets the next round come earlier. */
export class Door {
  readonly #world: World;
  #open: (() => void) | null = null;
  #knocked = false;
  /** The knock is to be answered, and nobody was waiting. */
  #due = false;

  constructor(world: World) {
    this.#world = world;
  }

  knock(): void {
    if (this.#knocked) return;
    this.#knocked = true;
    this.#world.after(KNOCK_MS * this.#world.random(), () => {
      this.#due = true;
      this.#open?.();
    });
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const knocked = new AbortController();
    this.#open = () => knocked.abort("knocked");
    if (!this.#due) await sleep(this.#world, ms, AbortSignal.any([signal, knocked.signal])).catch(() => {});
    this.#open = null;
    this.#knocked = false;
    this.#due = false;
  }
}

/** Runs until the signal aborts. A round that fails is told and the next one comes. */
export async function keepHouse(options: HousekeepingOptions, signal: AbortSignal): Promise<void> {
  const { world, settings, bus } = options;
  // A sweeper that has just started takes nothing from anybody: after an outage everybody's lease is over.
  let graceUntil = world.monotonicNow() + settings.startupGraceMs;
  while (!signal.aborted) {
    // Jitter, so that nodes that started together do not sweep together.
    let pauseMs = settings.housekeepingMs * (0.8 + world.random() * 0.4);
    try {
      const nextWakeMs = await round(options, world.monotonicNow() >= graceUntil);
      // The next known deadline is slept on, not polled for.
      if (nextWakeMs !== null) pauseMs = Math.min(pauseMs, Math.max(nextWakeMs, SHORTEST_PAUSE_MS));
    } catch (error) {
      bus.emit("housekeeping.failed", { error });
      graceUntil = world.monotonicNow() + settings.startupGraceMs;
    }
    await options.door.wait(pauseMs, signal);
  }
  await options.sweeper?.release().catch((error) => bus.emit("housekeeping.failed", { error }));
}

/** The sign of life does not wait for a lease that cannot be had. */
async function mayReclaim({ sweeper, bus }: HousekeepingOptions): Promise<boolean> {
  if (!sweeper) return true;
  try {
    return await sweeper.hold();
  } catch (error) {
    bus.emit("housekeeping.failed", { error });
    return false;
  }
}

async function round(options: HousekeepingOptions, graceIsOver: boolean): Promise<number | null> {
  const { store, bus, settings, env, incarnation, modes, alone, onWork } = options;
  // A disabled node makes nothing, not even of others' runs.
  const reclaims = graceIsOver && options.reclaims && modes.state.mode !== "disabled";
  const { told } = modes;
  const report = await store.housekeep({
    incarnation,
    limit: PAGE,
    reclaim: reclaims && (await mayReclaim(options)),
    alone,
    presenceGraceMs: settings.presenceGraceMs,
  });
  if (!report.registered) await options.onForgotten();
  options.onCalled(report.called);
  for (const reclaimed of report.reclaimed) bus.emit("run.reclaimed", reclaimed);
  if (report.reclaimed.length > 0)
    bus.emit("recovery.sweep", { ...sweepCounts(report.reclaimed, report.reclaimed.length), staleAfterMs: 0 });
  // A second statement, but only while somebody waits for a limit.
  const admitted = report.held ? await store.runs.admit({ env, keys: LINES }) : 0;
  if (report.overdue) {
    for (const expired of await store.runs.expireDeferred({ env, limit: PAGE })) bus.emit("run.expired", expired);
  }
  // Set by this node itself meanwhile: the report may be older than that.
  await options.onRound(modes.told === told ? report.mode : null);
  if (report.woken > 0 || report.reclaimed.length > 0 || admitted > 0) onWork();
  // A full page: there is more.
  return report.woken >= PAGE || report.reclaimed.length >= PAGE ? 0 : report.nextWakeMs;
}
